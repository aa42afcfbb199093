"""One agent's part of a turn: its model calls, its answers, its tools, whom it hands over to.

Whoever runs the loop uses these: `pipeline.execution`, or an engine such as LangGraph. So every
loop yields the same batches.
"""
