"""A running collector, asked over HTTP."""
