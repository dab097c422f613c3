"""From records to codes: read tables, validate, draw, encode."""
