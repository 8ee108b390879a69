"""Random worlds from a base world, the manifest of worlds, and the static map."""
