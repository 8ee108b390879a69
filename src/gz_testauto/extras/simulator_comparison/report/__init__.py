"""Reports of a comparison of simulators: terminal, CSV and page."""
