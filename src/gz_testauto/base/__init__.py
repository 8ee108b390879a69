"""Plain values, errors, files and registries, which any other module can import."""
