"""Tables fitted to all reports together."""
