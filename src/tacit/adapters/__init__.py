"""Ways to a database: `tacit.connect`, a running collector over HTTP, DB-API, SQLAlchemy, SQL functions, PostgreSQL."""
