"""Terrains: ground that is the same in every simulator."""

from gz_testauto.extras.simulator_comparison.terrain.kinds import TerrainSpec, make_terrain
from gz_testauto.extras.simulator_comparison.terrain.terrain import Terrain, write_world

__all__ = ["Terrain", "TerrainSpec", "make_terrain", "write_world"]
