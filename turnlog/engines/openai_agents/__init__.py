"""The OpenAI Agents SDK: a team as its agents, on our own Model; and its models as ours.

The package is an extra. Nothing here imports it before it is used.
"""
