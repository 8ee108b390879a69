"""Reports of a comparison of simulators: terminal, CSV, JSON and HTML page."""
