"""A store that several collectors share: a PostgreSQL database, and what keeps its users apart."""
