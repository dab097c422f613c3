"""From functionals to contributions: what each code adds to an answer."""
