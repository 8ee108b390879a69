"""Simulators measured against recordings and against each other, scored, and how sure that is."""
