"""The command line, with one module per verb."""
