"""Physics of a simulator against values known on paper, one idea a module."""
