"""What robots are told to do in every simulator alike: commands, and where they begin."""
