"""Conversion of results of other software into results directories."""
