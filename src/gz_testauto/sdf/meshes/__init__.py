"""Triangle meshes: file formats, horizontal outlines, enclosed solids, and convex decomposition."""
