"""LangGraph: a team as a graph whose model node is our own, and graphs that somebody else wrote.

The package is an extra. Nothing here imports it before it is used.
"""
