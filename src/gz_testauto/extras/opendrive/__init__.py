"""Import of roads from OpenDRIVE files."""
