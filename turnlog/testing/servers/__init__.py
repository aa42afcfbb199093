"""PostgreSQL and Valkey for tests: started here, ended here, by their own process ids."""
