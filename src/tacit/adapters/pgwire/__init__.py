"""The PostgreSQL protocol: messages, authentication, and a catalog for the tools that speak it."""
