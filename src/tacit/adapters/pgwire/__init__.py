"""The PostgreSQL protocol: messages, authentication, and a catalog for tools."""
