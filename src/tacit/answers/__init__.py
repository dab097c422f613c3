"""Run questions over an engine: sums, intervals, contributions, fitted answers, forecasts."""
