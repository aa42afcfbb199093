"""Any MCP server as a source of tools.

server (what is configured) -> source (its connections, one a user where it must know who asks)
-> connection (keeps itself alive) -> handshake (over HTTP, or with a program) -> messages (what
the client can read) -> catalog (their tools as ours), results (their results as ours). The `mcp`
package takes a second to import: `handshake` is imported when it is needed.
"""
