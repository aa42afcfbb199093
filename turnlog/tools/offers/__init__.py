"""Our tools for other programs, over MCP."""
