"""The nodes ``obstacle_spawner`` and ``world_multiplier``, which generate random obstacles."""
