"""Unbiased estimates from reports: functionals, decoders, variances, answers."""
