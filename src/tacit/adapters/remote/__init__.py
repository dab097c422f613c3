"""A running collector, queried over HTTP."""
