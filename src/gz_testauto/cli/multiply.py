"""Generate worlds from a base world, each with random obstacles.

BASE is a world without random obstacles, to which the obstacles of the
specification are added, or a world with random obstacles, whose positions,
headings and sizes are then drawn again. World i depends only on the seed and i.

example:
  gz_testauto multiply worlds/arena.world --spec config/obstacles.yaml \\
      --count 500 --seed 7 --out worlds_500
"""

import argparse
import dataclasses
import json
import re
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any, Dict, List, Optional, Pattern

from gz_testauto.base.errors import SpecError
from gz_testauto.base.escaping import escape_text
from gz_testauto.campaign.campaign_files import input_path
from gz_testauto.campaign.progress import WorldProgress
from gz_testauto.sampling.difficulty import Difficulty
from gz_testauto.sdf.scene import WorldScene
from gz_testauto.spec.loader import load
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.worlds.base import BaseWorld
from gz_testauto.worlds.manifest import WorldSet
from gz_testauto.worlds.multiply import multiply

GROUP = ("worlds", 1)
REPAIRS_SHOWN = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "base", metavar="BASE", type=input_path, help="base world file, or its package:// URI"
    )
    parser.add_argument(
        "--spec", required=True, type=input_path, metavar="YAML", help="obstacle specification"
    )
    parser.add_argument(
        "--count", type=int, default=100, metavar="N", help="number of worlds (default: 100)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the random obstacles (default: 0)"
    )
    parser.add_argument(
        "--out", required=True, type=Path, metavar="DIR", help="directory for the worlds"
    )
    parser.add_argument(
        "--pattern",
        metavar="REGEX",
        help="regular expression; a model of BASE is a random obstacle if it matches the full name "
        "(default: names that the spawner assigns)",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="replace worlds that were generated from different inputs",
    )
    parser.add_argument(
        "--repair", action="store_true", help="correct XML errors that Gazebo accepts"
    )
    parser.add_argument(
        "--no-plugins",
        action="store_true",
        help="remove the plugins of BASE from the generated worlds",
    )
    add_allow_missing(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    pattern = compile_pattern(arguments.pattern)
    spec = load(arguments.spec, ObstacleSpec)
    started_s = time.monotonic()
    worlds = multiply(
        arguments.base,
        spec,
        arguments.count,
        arguments.seed,
        arguments.out,
        pattern=pattern,
        repair=arguments.repair,
        plugins=not arguments.no_plugins,
        allow_missing=arguments.allow_missing,
        force=arguments.force,
        progress=WorldCounter()
        if sys.stderr.isatty()
        else WorldProgress(_print_progress, "generated", silent_s=3.0),
    )
    seconds = time.monotonic() - started_s
    if arguments.json:
        print(json.dumps(_summary(worlds), indent=1))
        return 0
    base = BaseWorld(
        arguments.base, pattern, arguments.repair, allow_missing=arguments.allow_missing
    )
    print("\n".join(_report_lines(worlds, base, seconds)))
    print_repairs(base.scene)
    return 0


def _print_progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def compile_pattern(text: Optional[str]) -> Optional[Pattern[str]]:
    """Return the regular expression of ``--pattern``, or None without one. Raises ``SpecError`` if
    it is invalid."""
    if text is None:
        return None
    try:
        return re.compile(text)
    except re.error as error:
        raise SpecError(f"--pattern {text!r} is not a regular expression: {error}") from error


def add_allow_missing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-missing",
        action="append",
        default=[],
        metavar="URI",
        help="omit this model, mesh or height map if it is missing; * matches any text; repeatable",
    )


def print_repairs(scene: WorldScene) -> None:
    repairs = scene.document.repairs
    for repair in repairs[:REPAIRS_SHOWN]:
        print(f"corrected: {repair}", file=sys.stderr)
    if len(repairs) > REPAIRS_SHOWN:
        print(f"corrected: and {len(repairs) - REPAIRS_SHOWN} more", file=sys.stderr)
    for name in scene.missing:
        print(f"missing, left out: {escape_text(name)}", file=sys.stderr)


class WorldCounter:
    """A callback that shows the number of finished worlds on standard error."""

    def __init__(self) -> None:
        self._shown_s = 0.0

    def __call__(self, done: int, count: int) -> None:
        now_s = time.monotonic()
        if done == count:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        elif now_s - self._shown_s > 0.1:
            print(f"\r{done} of {count} worlds", end="", file=sys.stderr, flush=True)
            self._shown_s = now_s


def _known_figures(worlds: WorldSet) -> Dict[str, List[float]]:
    """Return the known values of the shortest path and of each measure of difficulty, by name.
    Measures without a known value are omitted."""
    all_values: Dict[str, List[Any]] = {
        "shortest_path_m": [world.shortest_path_m for world in worlds],
    }
    for name in (field.name for field in dataclasses.fields(Difficulty)):
        all_values[name] = [getattr(world.difficulty, name, None) for world in worlds]
    known_values = {
        name: [v for v in values if v is not None] for name, values in all_values.items()
    }
    return {name: values for name, values in known_values.items() if values}


def _summary(worlds: WorldSet) -> Dict[str, Any]:
    return {
        "directory": str(worlds.directory),
        "count": len(worlds),
        "seed": worlds.inputs["seed"],
        "obstacles": sum(len(world.obstacles) for world in worlds),
        "redrawn": sum(world.redrawn for world in worlds),
        "coverage": worlds.coverage,
        "figures": {
            name: {"min": min(values), "median": median(values), "max": max(values)}
            for name, values in _known_figures(worlds).items()
        },
    }


_UNITS = {
    "shortest_path_m": ("shortest path", "m", 1.0),
    "mean_clearance_m": ("mean clearance of it", "m", 1.0),
    "narrowest_gap_m": ("narrowest gap on it", "m", 1.0),
    "average_visibility_m": ("average visibility", "m", 1.0),
    "characteristic_dimension_m": ("characteristic dim.", "m", 1.0),
    "dispersion": ("dispersion", "", 1.0),
    "tortuosity": ("tortuosity", "", 1.0),
    "density": ("ground covered", "%", 100.0),
}


def _report_lines(worlds: WorldSet, base: BaseWorld, seconds: float) -> List[str]:
    base_kind = f"random obstacles redrawn: {base.summary}" if base.obstacles else "bare world"
    lines = [
        f"{len(worlds)} worlds in {seconds:.1f} s, seed {worlds.inputs['seed']}",
        f"base  {base.path} ({base_kind})",
        f"out   {worlds.directory}",
    ]
    figures = _known_figures(worlds)
    if figures:
        lines += ["", f"{'':<22}{'lowest':>10}{'median':>10}{'highest':>10}"]
    for name, (title, unit, factor) in _UNITS.items():
        if name in figures:
            values = [factor * value for value in figures[name]]
            cells = "".join(f"{v:>10.2f}" for v in (min(values), median(values), max(values)))
            lines.append(f"{title:<22}{cells} {unit}".rstrip())
    discarded = sum(world.redrawn for world in worlds)
    if discarded:
        lines += [
            "",
            f"{discarded} sets of obstacles were discarded, since they had no path, or an obstacle",
            "did not fit at its constant position",
        ]
    if worlds.coverage is not None:
        discrepancy, chance = worlds.coverage["discrepancy"], worlds.coverage["independent"]
        lines += ["", f"centered discrepancy {discrepancy:.3g} (independent draws: {chance:.3g})"]
    return lines
