"""The servers for live events that tests run on, by the fixtures that start them."""

from turnlog.testing.servers.redis import redis_server

# Valkey; Redis itself, where `make` or the system has brought one; and a Cluster.
REDIS_SERVERS = ["valkey", *(["redis_7"] if redis_server() else []), "shards"]
