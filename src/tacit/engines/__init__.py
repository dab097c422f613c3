"""Where reports live and sums are made: an engine is a handful of methods and never knows what a mechanism is."""
