"""Roads from OpenDRIVE files."""
