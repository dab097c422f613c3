"""A collector's stores: the inbox, the analytical database, and the mover of reports between them."""
