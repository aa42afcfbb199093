"""Live events between nodes by Redis or Valkey: one server, or a Cluster."""
