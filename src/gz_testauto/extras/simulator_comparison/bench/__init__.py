"""Execution of the maneuvers of a comparison of simulators: order, processes, cost, storage and
resumption."""
