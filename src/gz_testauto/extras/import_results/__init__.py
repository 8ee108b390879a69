"""Conversion of results from other software into results directories."""
