"""Dynamic Scenic scenarios, whose agents move during a trial."""
