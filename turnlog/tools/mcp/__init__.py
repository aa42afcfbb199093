"""Any MCP server as a source of tools.

server (what is configured) -> source (its connections, one a user where it must know who asks)
-> connection (keeps itself alive) -> listing (their tools as ours) -> results (their results as
ours). The `mcp` package takes a second to import: only `opening` does, when it is needed.
"""
