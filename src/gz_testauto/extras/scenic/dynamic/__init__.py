"""What Scenic programs say of things that act in time."""
