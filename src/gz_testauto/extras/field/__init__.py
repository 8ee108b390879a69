"""Bags of simulated trials, and worlds from bags of real robots."""
