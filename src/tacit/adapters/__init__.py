"""Ways in for other tools: DB-API, SQLAlchemy, functions for engines."""
