"""HTTP: the application, its endpoints, limits, errors and pages."""
