"""Plain values, errors, files and registries: what every other module may import."""
