"""Any kind of table as an Arrow table, and what a table's columns look like."""
