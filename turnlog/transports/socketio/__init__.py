"""The same events and requests over Socket.IO."""
