"""Generate worlds from a Scenic program (needs scenic).

SCENARIO is a Scenic 3 program. MODELS is the YAML descriptor of the models that it can place; their
classes need no import. World i depends only on the seed and i. The command writes a .world file, a
mission (.yaml) and a plan view (.png, .svg) for each scene, the models and worlds.json to DIR. Add
DIR/models to GAZEBO_MODEL_PATH to load the worlds. No file in DIR is removed.

example:
  gz_testauto scenic config/scenic/fetch.scenic config/scenic/models.yaml \\
      --out fetch_worlds -n 5 --seed 1
  gz_testauto scenic --convert old.scenic --out new.scenic
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any, Dict, List

from gz_testauto.base.disk import disk_errors, replace_file
from gz_testauto.base.errors import SpecError
from gz_testauto.base.escaping import escape_text
from gz_testauto.cli.multiply import WorldCounter
from gz_testauto.cli.options import processors, worker_count
from gz_testauto.spec.yaml_source import AmbiguousValueError, YamlSource

GROUP = ("worlds", 4)
NOTES_SHOWN = 10
DRAWS_SHOWN_S = 5.0  # time between two progress reports


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scenario", metavar="SCENARIO", type=Path, help="Scenic program file (.scenic)"
    )
    parser.add_argument(
        "models", metavar="MODELS", type=Path, nargs="?", help="model descriptor file (YAML)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="output directory, or output file with --convert"
    )
    parser.add_argument(
        "-n", "--count", type=int, default=1, metavar="N", help="number of worlds (default 1)"
    )
    parser.add_argument("-s", "--seed", type=int, default=0, metavar="N", help="default 0")
    parser.add_argument(
        *("-p", "--param"),
        nargs=2,
        action="append",
        default=[],
        metavar=("KEY", "VALUE"),
        help="value of a global parameter of the program; can be repeated",
    )
    parser.add_argument(
        "--scenario",
        dest="chosen",
        metavar="NAME",
        help="name of the modular scenario, if the file has several (default Main)",
    )
    parser.add_argument(
        "--keep-placed",
        action="store_true",
        help="keep valid objects and draw only the others again. This is faster in dense scenes, "
        "but changes the distribution. The limit is 10000 draws, and 200 more for each object",
    )
    parser.add_argument(
        "--download",
        action="store_true",
        help="download missing models from Gazebo's model database, from Fuel, or from the key "
        "'url' of the model",
    )
    parser.add_argument(
        "--workers",
        type=worker_count,
        default=processors(),
        metavar="N",
        help="largest number of processes that generate worlds in parallel; the worlds do not "
        "depend on it (default: one per processor, here %(default)s)",
    )
    parser.add_argument("--no-plots", action="store_true", help="do not write plan views")
    parser.add_argument(
        "--no-pruning", action="store_true", help="do not prune regions before positions are drawn"
    )
    parser.add_argument(
        "--show-params", action="store_true", help="print the global parameters of each scene"
    )
    parser.add_argument(
        "--dump-library",
        type=Path,
        metavar="FILE",
        help="write the Scenic library with the classes of the models to this file; without --out, "
        "generate no worlds",
    )
    parser.add_argument(
        "--convert",
        action="store_true",
        help="convert SCENARIO from Scenic 2 to Scenic 3, write the result to the file --out, and "
        "mark the lines that cannot be converted",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    if arguments.convert:
        return _convert_program(arguments)
    only_library = arguments.out is None and arguments.dump_library is not None
    if arguments.models is None:
        raise SpecError("the argument MODELS is missing; add the path of the model descriptor")
    if arguments.out is None and not only_library:
        raise SpecError("the option --out is missing; add --out DIR")
    from gz_testauto.extras.scenic.output import write_scenes
    from gz_testauto.extras.scenic.source import ScenicSource

    source = ScenicSource(
        arguments.scenario,
        arguments.models,
        arguments.seed,
        parameters_of(arguments.param),
        keep=arguments.keep_placed,
        download=arguments.download,
        chosen=arguments.chosen,
        pruning=not arguments.no_pruning,
    )
    _print_notes(source.notes)
    if arguments.dump_library is not None:
        with disk_errors(arguments.dump_library):
            replace_file(arguments.dump_library, source.library().encode())
    if only_library:
        print(f"library   {arguments.dump_library}")
        return 0
    started = time.monotonic()
    worlds = write_scenes(
        source,
        arguments.count,
        arguments.out,
        plots=not arguments.no_plots,
        progress=WorldCounter() if sys.stderr.isatty() else None,
        workers=arguments.workers,
        draw_progress=DrawCounter(),
    )
    seconds = time.monotonic() - started
    facts: Dict[str, Any] = {
        "directory": str(worlds.directory),
        "count": len(worlds),
        "seed": arguments.seed,
        "redrawn": sum(world.redrawn for world in worlds),
    }
    if arguments.show_params:
        facts["parameters"] = [
            {key: str(value) for key, value in source.generate(index).parameters.items()}
            for index in range(len(worlds))
        ]
    if arguments.json:
        print(json.dumps(facts, indent=1))
        return 0
    print(f"{len(worlds)} worlds in {seconds:.1f} s, seed {arguments.seed}")
    print(f"out   {worlds.directory}")
    print(f"for Gazebo: export GAZEBO_MODEL_PATH={worlds.directory / 'models'}")
    for world, values in zip(worlds, facts.get("parameters", [])):
        print(f"{world.name}  " + ", ".join(f"{key} = {text}" for key, text in values.items()))
    return 0


class DrawCounter:
    """A callback that shows the number of draws of a slow world on standard error."""

    def __init__(self) -> None:
        self._printed_s = time.monotonic()

    def __call__(self, draws: int, limit: int) -> None:
        now_s = time.monotonic()
        if draws == 0:
            self._printed_s = now_s
        elif now_s - self._printed_s >= DRAWS_SHOWN_S:
            self._printed_s = now_s
            start = "\r\033[K" if sys.stderr.isatty() else ""
            print(f"{start}drawing a world: {draws} of at most {limit} draws", file=sys.stderr)


def parameters_of(pairs: List[List[str]]) -> Dict[str, Any]:
    """Return the program's parameters from pairs of name and value. Numbers and truth values are
    converted; all other values remain text."""
    parameters: Dict[str, Any] = {}
    for key, text in pairs:
        try:
            value = YamlSource(text, f"--param {key}").data
        except AmbiguousValueError:
            raise
        except SpecError:
            value = text
        plain = isinstance(value, (bool, int, float))
        parameters[key] = value if plain else text
    return parameters


def _print_notes(notes: Any) -> None:
    for note in notes[:NOTES_SHOWN]:
        print(f"note: {escape_text(note)}", file=sys.stderr)
    if len(notes) > NOTES_SHOWN:
        print(f"note: and {len(notes) - NOTES_SHOWN} more", file=sys.stderr)


def _convert_program(arguments: argparse.Namespace) -> int:
    from gz_testauto.extras.scenic.convert import convert_file

    converted = convert_file(arguments.scenario, arguments.out)
    _print_notes(converted.notes)
    if arguments.out is None:
        print(converted.text, end="")
    return 0
