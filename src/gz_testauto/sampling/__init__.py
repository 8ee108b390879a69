"""Seeds, distributions and the placement of random obstacles."""
