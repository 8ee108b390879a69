"""What of a model a physics engine is to build: bodies, joints, what is left out."""
