"""The collector: publishes contracts, takes reports, answers questions. One process, one folder."""
