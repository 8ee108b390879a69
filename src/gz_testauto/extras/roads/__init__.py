"""Traffic: vehicles that follow lanes, actors that pass through, and trajectory planners."""
