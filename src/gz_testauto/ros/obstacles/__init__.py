"""The nodes ``obstacle_spawner`` and ``world_multiplier``: random obstacles by service calls."""
