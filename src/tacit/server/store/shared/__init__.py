"""A store that several collectors share: a PostgreSQL database, with leases and locks between its users."""
