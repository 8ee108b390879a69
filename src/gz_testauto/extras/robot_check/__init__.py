"""Properties that are read from a robot model, and its motion in a simulator."""
