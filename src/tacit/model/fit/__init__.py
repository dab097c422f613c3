"""Tables fitted to all reports of a service."""
