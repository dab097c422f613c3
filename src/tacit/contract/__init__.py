"""What all parties must agree on. A privacy review must read this package."""
