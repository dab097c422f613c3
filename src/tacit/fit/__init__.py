"""Post-processed answers: a non-negative table of every attribute and every pair, fitted to all views together."""
