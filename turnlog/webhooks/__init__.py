"""Who is told elsewhere: signed notices to configured addresses, from the store's outbox."""
