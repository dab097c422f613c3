"""A collector's stores: the inbox, the analytical database, and what moves reports between them."""
