"""SQL text to functionals: parse, bind, plan."""
