"""Simulation of the maneuvers of a bench: order, processes, cost, storage and continuation."""
