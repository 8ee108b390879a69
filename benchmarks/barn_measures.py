#!/usr/bin/env python3
"""Compare the difficulty measures with those of BARN's own program.

Reads the worlds and the paths of BARN, and computes distance to the closest obstacle, average
visibility, dispersion, characteristic dimension and tortuosity with this package and with
``difficulty_quant.py`` of the authors. Prints the largest difference of each measure.

    git clone https://github.com/Daffan/the-barn-challenge
    git clone https://github.com/dperille/jackal-map-creation
    benchmarks/barn_measures.py the-barn-challenge jackal-map-creation
"""

import argparse
import queue
import sys
import types
from pathlib import Path

import numpy as np

from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.grid.path_measures import path_measures
from gz_testauto.grid.search import path_length_m
from gz_testauto.sdf.scene import read_scene
from gz_testauto.sdf.shapes import Cylinder

CELLS, CELL_M = 30, 0.15
ORIGIN_M = (-4.575, 5.075)  # the center of the cell (0, 0); rows are along x
ROBOT_CELLS = 2
NAMES = ("closest obstacle", "average visibility", "dispersion", "char. dimension", "tortuosity")


def published_measures(folder: Path) -> type:
    """Return the class of the authors' program, which was written for Python 2."""
    module = types.ModuleType("difficulty_quant")
    sys.modules["Queue"] = queue
    text = (folder / "difficulty_quant.py").read_text()
    exec(compile(text, "difficulty_quant.py", "exec"), module.__dict__)
    return module.DifficultyMetrics


def configuration_space(world: Path) -> np.ndarray:
    """Return the cells that the robot's center must not enter, as the authors compute them."""
    occupied = np.zeros((CELLS, CELLS), dtype=bool)
    for model in read_scene(world).models.values():
        for shape in model.collisions:
            if isinstance(shape.geometry, Cylinder):
                x_m, y_m = model.pose.position[:2]
                row, column = (
                    round((x_m - ORIGIN_M[0]) / CELL_M),
                    round((y_m - ORIGIN_M[1]) / CELL_M),
                )
                if 0 <= row < CELLS and 0 <= column < CELLS:
                    occupied[row, column] = True
    padded = np.pad(occupied, ROBOT_CELLS)
    shifts = range(2 * ROBOT_CELLS + 1)
    return np.any([padded[r : r + CELLS, c : c + CELLS] for r in shifts for c in shifts], axis=0)


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("barn", type=Path, help="checkout of the-barn-challenge")
    parser.add_argument("program", type=Path, help="checkout of jackal-map-creation")
    arguments = parser.parse_args()
    theirs = published_measures(arguments.program)
    worlds = arguments.barn / "jackal_helper" / "worlds" / "BARN"
    differences, values = [], []
    for number in range(300):
        occupied = configuration_space(worlds / f"world_{number}.world")
        path = np.load(worlds / "path_files" / f"path_{number}.npy")
        expected = theirs(occupied.astype(int).tolist(), path.tolist(), 3).avg_all_metrics()
        closest = OccupancyGrid(occupied, 1.0, 0.0, 0.0).clearance_m()[path[:, 0], path[:, 1]]
        chord = np.hypot(*(path[-1] - path[0]))
        found = path_measures(occupied, path)
        measured = (closest.mean(), *found, path_length_m(path) / chord)
        differences.append(np.abs(np.subtract(measured, expected)))
        values.append(expected)
    print(f"{'':<20}{'lowest':>10}{'median':>10}{'highest':>10}{'largest difference':>20}")
    for name, value, difference in zip(NAMES, np.transpose(values), np.transpose(differences)):
        middle = np.median(value)
        print(f"{name:<20}{value.min():>10.3f}{middle:>10.3f}{value.max():>10.3f}", end="")
        print(f"{difference.max():>20.1e}")


if __name__ == "__main__":
    main()
