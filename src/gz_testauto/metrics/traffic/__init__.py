"""What is measured among movers and on lanes."""
