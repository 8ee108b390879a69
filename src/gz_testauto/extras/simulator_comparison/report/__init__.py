"""What is shown of a comparison of simulators: on a terminal, as CSV, as a page."""
