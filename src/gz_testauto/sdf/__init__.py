"""Read, interpret and edit SDF worlds and models."""
