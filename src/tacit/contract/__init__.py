"""What all parties must agree on: what a privacy review must read."""
