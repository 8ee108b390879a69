"""Specifications: validated, immutable objects that are read from YAML files."""
