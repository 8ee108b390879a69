"""Specifications: frozen, validated objects that are read from YAML; errors name file and line."""
