"""What a collector keeps: the inbox, the analytical database, and what moves between them."""
