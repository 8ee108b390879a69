"""Place every model of a collection by ``gz_testauto scenic``, and count the outcomes.

The claim: each folder with a ``model.sdf`` is placed, or rejected by name with a correct remedy; no
model causes a traceback, and no warning of a library reaches the terminal. Each model is placed
alone, at the origin. If the remedy is to include a model in the descriptor's world, this is done.
The other remedies are for missing files, which this program cannot supply. Prints a line for each
model that is not placed, then the counts.

    python3 benchmarks/scenic_models.py ~/gazebo_models
    python3 benchmarks/scenic_models.py ~/gazebo_models --only postbox --only 'mpl_*'
"""

import argparse
import contextlib
import fnmatch
import io
import re
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional

import yaml

from gz_testauto.cli.main import main as gz_testauto
from gz_testauto.extras.scenic.descriptor import class_name

IN_WORLD = "<include> it in the descriptor's world"
PLACED, REFUSED, CRASHED, INCLUDED = "placed", "refused", "crashed", "included in the world"
WORLD = """<sdf version="1.6"><world name="default">
<include><uri>model://{name}</uri></include></world></sdf>"""


class Outcome(NamedTuple):
    """Result of one model: its kind, and the output on standard error."""

    kind: str
    text: str
    warned: bool


def place(folder: Path) -> Outcome:
    """Place a model, and include it in the world of the descriptor if the error message advises
    that."""
    entry = {"name": folder.name, "type": "CUSTOM_MODEL"}
    outcome = make_world(folder, f"new {class_name(folder.name)} at 0 @ 0, facing 0 deg\n", entry)
    if outcome.kind == REFUSED and IN_WORLD in outcome.text:
        marker = {"name": "marker", "type": "MISSION_ONLY"}
        included = make_world(folder, "new Marker at 0 @ 0\n", marker, world=True)
        if included.kind == PLACED:
            return outcome._replace(kind=INCLUDED)
    return outcome


def make_world(folder: Path, scenario: str, entry: Dict[str, str], world: bool = False) -> Outcome:
    """Create one world of a scenario with one model in its descriptor."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        descriptor: Dict[str, Any] = {"models_dir": str(folder.parent), "models": [entry]}
        if world:
            (place / "base.world").write_text(WORLD.format(name=folder.name))
            descriptor["world"] = "base.world"
        (place / "models.yaml").write_text(yaml.safe_dump(descriptor))
        (place / "one.scenic").write_text(scenario)
        files = [str(place / "one.scenic"), str(place / "models.yaml")]
        return run(["scenic", *files, "--out", str(place / "worlds"), "--no-plots"])


def run(arguments: List[str]) -> Outcome:
    """Run a command of gz_testauto in this process."""
    output = io.StringIO()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with contextlib.redirect_stderr(output), contextlib.redirect_stdout(io.StringIO()):
            try:
                status: Optional[int] = gz_testauto(arguments)
            except Exception:
                output.write(traceback.format_exc())
                status = None
    kind = {0: PLACED, None: CRASHED}.get(status, REFUSED)
    return Outcome(kind, output.getvalue(), any(w.category is RuntimeWarning for w in warned))


def cause_of(text: str) -> str:
    """Return a message without paths and numbers, which differ between models."""
    last = [line for line in text.strip().splitlines() if not line.startswith("note:")][-1]
    return re.sub(r"[\d.]+", "N", re.sub(r"\S*/\S*", "PATH", last))[:160]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=Path, help="a directory of model folders")
    parser.add_argument("--only", action="append", default=[], help="names to place, with * and ?")
    arguments = parser.parse_args()
    found = sorted(path.parent for path in arguments.models.absolute().glob("*/model.sdf"))
    if arguments.only:
        found = [f for f in found if any(fnmatch.fnmatch(f.name, one) for one in arguments.only)]
    outcomes: Dict[str, Outcome] = {}
    for folder in found:
        outcome = outcomes[folder.name] = place(folder)
        if outcome.kind != PLACED or outcome.warned:
            warned = ", a RuntimeWarning escaped" if outcome.warned else ""
            print(f"{folder.name}: {outcome.kind}{warned}: {outcome.text.strip()}", flush=True)
    kinds = Counter(outcome.kind for outcome in outcomes.values())
    print(f"\n{len(outcomes)} models: " + ", ".join(f"{n} {kind}" for kind, n in kinds.items()))
    causes: Dict[str, List[str]] = {}
    for name, outcome in outcomes.items():
        if outcome.kind != PLACED:
            causes.setdefault(cause_of(outcome.text), []).append(name)
    for cause, names in sorted(causes.items(), key=lambda item: -len(item[1])):
        print(f"{len(names):>4}  {cause}: {', '.join(names)}")
    placed = [outcome.text for outcome in outcomes.values() if outcome.kind == PLACED]
    for what in ("convex hull", "repaired line", "was not found and is unchanged"):
        print(f"{sum(what in text for text in placed):>4}  of those placed have a note: {what}")
    failed = [
        outcome
        for outcome in outcomes.values()
        if outcome.kind == CRASHED
        or outcome.warned
        or (outcome.kind == REFUSED and IN_WORLD in outcome.text)
    ]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
