"""Query options of a request: `$filter` and the others, and the rows that they choose."""
