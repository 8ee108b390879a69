"""Many worlds from one: multiplication, the manifest of what was made, the known map."""
