"""Forecasts before anything is collected: expected errors, verdicts, and designs for questions."""
