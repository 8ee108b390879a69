"""Parameters of a planner that succeed more often."""
