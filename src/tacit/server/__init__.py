"""The collector: publishes contracts, stores reports and answers questions. One process, one folder."""
