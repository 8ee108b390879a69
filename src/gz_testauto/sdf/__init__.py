"""Reading, understanding and rewriting SDF worlds and models."""
