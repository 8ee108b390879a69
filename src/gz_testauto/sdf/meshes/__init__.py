"""Triangle meshes: files, horizontal outlines, solids, and convex decomposition."""
