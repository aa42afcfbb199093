"""`/mcp`: tools and agents for MCP clients."""
