"""One post-processed model: noisy tables, a fit, marginals and synthetic rows."""
