"""Adapters for other tools: DB-API, SQLAlchemy, SQL functions."""
