"""PostgreSQL's catalog as tools expect it, over the tables of a collector, and a small interpreter for questions to it.

No engine sees these questions: they are evaluated here, over a few rows in memory, within a budget of steps.
"""
