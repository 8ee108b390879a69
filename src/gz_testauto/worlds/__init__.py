"""Many worlds from one: multiplication, the manifest of the worlds, the static map."""
