"""WebSocket (RFC 6455) for our server: one object for each socket, and no task of its own."""
