"""Roads as campaigns have them: lanes and routes, written out or from OpenDRIVE."""
