"""What the ERP agent can do: one module for each kind of record."""
