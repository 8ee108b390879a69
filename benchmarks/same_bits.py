"""Compare the results of two checkouts of this repository to the bit.

Runs a few worlds of the shipped campaigns, a comparison of simulators, a search, a shrinking, a
tuning and the standard set by the command line of each checkout (``CHECKOUT/bootstrap exec
gz_testauto``), each with the configuration files of that checkout. Then compares the outcome of
each trial, all recorded arrays (bitwise; NaN equals NaN), all values that are not wall times, and
the bytes of generated worlds. Prints one table, and exits with status 1 if anything differs.

    ./bootstrap exec python3 benchmarks/same_bits.py ../baseline . [--simulator gazebo]
                                                     [--cases example,walkers] [--no-cache]

Both checkouts need ``./bootstrap setup`` first. The case ``barn`` needs ``BARN_ROOT``
(docs/benchmarks.md). The results of a checkout without uncommitted changes are kept by commit, so
that a baseline is run once.

A commit that renames a file, an array or a column adds it to ``RENAMED_FILES`` or
``RENAMED_NAMES``, and a renamed planner to ``RENAMED_PLANNERS`` and ``RENAMED_FILES``.
"""

import argparse
import csv
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import yaml

RENAMED_FILES = {}
"""Regular expression over a path in a results directory -> the path to compare under."""
RENAMED_NAMES = {}
"""Array, column or metric in one checkout -> its name in the other."""
RENAMED_PLANNERS = {}
"""Planner in one checkout -> its name in the other. A case must not have both."""

WALL = re.compile(r"^(wall|cycle|cpu|real_time_factor|finished_at|attempts)|wall_time")
"""Names of arrays, columns and measures that depend on the wall clock or on the machine."""
DESCRIPTIONS = {"format", "about", "card"}
"""Arrays of text that describe a file."""
DOCUMENTS = {"search.json", "shrunk.json", "result.json", "tuning.json"}
"""JSON files that are compared value by value."""
ABSOLUTE_FOLDER = re.compile(r"(?<![\w.])/[^\s<>\"']*/")
"""Folder of an absolute path in a world file; the checkouts are in different folders."""
IDENTITY = ("world", "planner", "repetition", "measure", "entry", "number")
"""Columns that identify a row."""
TIMEOUT_S = 3600.0
END_TIMEOUT_S = 30.0
SHOWN = 4

# ---- the cases


def simulators_of(document, simulator):
    """Reduce the comparison of simulators to one terrain, and to entries that can run here."""
    reference, compared = ("ode", "servo") if simulator == "gazebo" else ("servo", "wheels")
    for maneuver in document["maneuvers"]:
        maneuver["duration_s"] = 2
    names = (reference, compared, "ideal")
    entries = [entry for entry in document["entries"] if entry["name"] in names]
    document.update(terrains=document["terrains"][:1], entries=entries, repetitions=2)
    document.update(measure_load=False, half_step=False, reference=reference, baseline="ideal")


def shorter_tuning(document, _simulator):
    """Reduce the held-out worlds of a tuning."""
    document["worlds"]["count"] = 4


CAMPAIGN = (
    "run {file} --simulator {simulator} --worlds {worlds} --out {out}",
    "report {out} --csv {out}/trials.csv",
)
SHRINK = (
    "run {file} --simulator {simulator} --worlds 1 --planners straight --out {out}",
    "shrink {out} 0 straight --perturb 2 --out {out}/shrunk",
    "perturb {out} --count 2",
)
SEARCH = ("search {file} --simulator {simulator} --budget 8 --perturb 2 --out {out}",)
TUNE = (
    "tune {file} --planner dwa_fox --parameters {folder}/dwa_fox_space.yaml --budget 24"
    " --training-worlds 4 --simulator {simulator} --out {out}",
)
SET = ("benchmark fgm --only clutter,crowd --worlds 2 --out {out}",)
COMPARISON = ("simulators compare {file} --out {out}",)
# name, configuration file, commands, worlds embedded and in Gazebo, edits by file
CASES = {
    "example": ("example_campaign.yaml", CAMPAIGN, 2, 1, {}),
    "walkers": ("walkers_campaign.yaml", CAMPAIGN, 2, 1, {}),
    "road": ("pedestrian_campaign.yaml", CAMPAIGN, 1, 1, {}),
    "traffic": ("traffic_campaign.yaml", CAMPAIGN, 1, 1, {}),
    "barn": ("barn.yaml", CAMPAIGN, 10, 2, {}),
    "scenic": ("scenic/campaign.yaml", CAMPAIGN, 2, 1, {}),
    "crossing": ("crossing_campaign.yaml", CAMPAIGN, 1, 1, {}),
    "robots": ("robots_campaign.yaml", CAMPAIGN, 1, 1, {}),
    "sensors": ("sensors_campaign.yaml", CAMPAIGN, 2, 1, {}),
    "people": ("people_campaign.yaml", CAMPAIGN, 1, 1, {}),
    "localization": ("localization/arena.yaml", CAMPAIGN, 2, 1, {}),
    "furniture": ("furniture_campaign.yaml", CAMPAIGN, 1, 1, {}),
    "caves": ("cave_campaign.yaml", CAMPAIGN, 1, 1, {}),
    "simulators": ("farley.yaml", COMPARISON, 0, 0, {"farley.yaml": simulators_of}),
    "search": ("example_campaign.yaml", SEARCH, 0, 0, {}),
    "shrink": ("smoke_campaign.yaml", SHRINK, 0, 0, {}),
    "tune": ("tune/arena.yaml", TUNE, 0, 0, {"tune/arena.yaml": shorter_tuning}),
    "standard": ("smoke_campaign.yaml", SET, 0, 0, {}),
}


class SkipCaseError(Exception):
    """A case that cannot run on this machine; the text is the reason."""


class CommandError(Exception):
    """A command of a checkout that failed."""


def find_file(folder, name):
    """Return the only file ``name`` below ``folder``, which can be in any folder."""
    paths = [path for path in folder.rglob(Path(name).name) if str(path).endswith("/" + name)]
    if len(paths) != 1:
        raise CommandError(f"{folder}: {len(paths)} files are named {name}; 1 is required")
    return paths[0]


class Checkout:
    """A checkout of this repository that is set up."""

    def __init__(self, path, cache):
        self.path = Path(path).resolve()
        self.commit = self._git("rev-parse", "--short=12", "HEAD")
        self._keep = cache and not self._git("status", "--porcelain")
        root = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
        self._cache = Path(root) / "gz_testauto" / "same_bits"

    def _git(self, *arguments):
        command = ["git", "-C", str(self.path), *arguments]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def results(self, case, simulator, place):
        """Return the directory with the results of a case, from the cache if possible."""
        name, commands, worlds, worlds_in_gazebo, edits = CASES[case]
        if case == "barn" and "BARN_ROOT" not in os.environ:
            raise SkipCaseError("BARN_ROOT is not set")
        source, out = place / "source", place / "out"
        shutil.copytree(self.path / "config", source / "config")
        for folder in ("worlds", "models"):
            os.symlink(self.path / folder, source / folder)
        for file, edit in edits.items():
            path = find_file(source / "config", file)
            document = yaml.safe_load(path.read_text(encoding="utf-8"))
            edit(document, simulator)
            path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
        file = find_file(source / "config", name)
        values = {
            "file": file,
            "folder": file.parent,
            "simulator": simulator,
            "worlds": worlds_in_gazebo if simulator == "gazebo" else worlds,
            "out": out,
        }
        definition = [case, simulator, *commands, str(values["worlds"])]
        definition += [find_file(source / "config", edited).read_text() for edited in edits]
        digest = hashlib.sha256(json.dumps(definition).encode()).hexdigest()
        kept = self._cache / f"{self.commit}-{digest[:12]}"
        if self._keep and kept.is_dir():
            return kept
        for command in commands:
            self.run(command.format(**values).split())
        if self._keep:
            self._cache.mkdir(parents=True, exist_ok=True)
            partial = kept.with_name(f"{kept.name}.{os.getpid()}")
            try:
                shutil.copytree(out, partial)
                partial.rename(kept)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
        return out

    def run(self, arguments):
        """Run ``gz_testauto`` of this checkout. The exit statuses 0 and 1 are accepted."""
        process = subprocess.Popen(
            [str(self.path / "bootstrap"), "exec", "gz_testauto", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=str(self.path),
            start_new_session=True,
        )
        try:
            _, errors = process.communicate(timeout=TIMEOUT_S)
        except BaseException:
            stop_group(process)
            raise
        if process.returncode not in (0, 1) or "Traceback" in errors:
            raise CommandError(f"{self.path}: {' '.join(arguments)}\n{errors[-3000:]}")


def stop_group(process):
    """Stop a process and its children by SIGTERM, and by SIGKILL after ``END_TIMEOUT_S``."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.communicate(timeout=END_TIMEOUT_S)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


# ---- reading


def facts_of(out):
    """Return the arrays and the values of a results directory, each by its full name."""
    arrays, values = {}, {}
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        name = str(path.relative_to(out))
        for old, new in RENAMED_FILES.items():
            name = re.sub(old, new, name)
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as stored:
                for key in stored.files:
                    if not WALL.search(key) and key not in DESCRIPTIONS:
                        arrays[f"{name}: {RENAMED_NAMES.get(key, key)}"] = stored[key]
        elif path.suffix == ".world":
            text = re.sub(ABSOLUTE_FOLDER, "", path.read_text(encoding="utf-8"))
            values[name] = hashlib.sha256(text.encode()).hexdigest()[:8]
        elif path.suffix == ".csv":
            with path.open(newline="", encoding="utf-8") as stream:
                values.update(rows_of(name, csv.DictReader(stream)))
        elif path.name in DOCUMENTS:
            values.update(leaves_of(name, json.loads(path.read_text(encoding="utf-8"))))
        elif path.suffix == ".jsonl":
            lines = path.read_text(encoding="utf-8").splitlines()
            rows = [row for row in map(json.loads, lines) if "inputs" not in row]  # have paths
            values.update(rows_of(name, rows))
    return arrays, values


def leaves_of(name, document):
    """Return the values of a JSON document, each named by its keys."""
    if not isinstance(document, (dict, list)):
        return {name: document}
    parts = document.items() if isinstance(document, dict) else enumerate(document)
    leaves = {}
    for key, part in parts:
        if not WALL.search(str(key)):
            leaves.update(leaves_of(f"{name}: {key}", part))
    return leaves


def rows_of(name, rows):
    """Return the values of a table's rows, each named by file, identity of the row and column."""
    values = {}
    for row in rows:
        if row.get("planner") in RENAMED_PLANNERS:
            row = {**row, "planner": RENAMED_PLANNERS[row["planner"]]}
        identity = " ".join(str(row[key]) for key in IDENTITY if key in row)
        if WALL.search(str(row.get("measure", ""))):
            continue
        for column, value in row.items():
            if not WALL.search(column) and column != "trajectory":
                values[f"{name}: {identity}: {RENAMED_NAMES.get(column, column)}"] = value
    return values


# ---- comparing


def same_array(a, b):
    """Return whether two arrays have one type, one shape and the same bits; NaN equals NaN."""
    if a.dtype.kind != b.dtype.kind or a.shape != b.shape:
        return False
    if a.dtype.kind == "U":
        return bool(np.all(a == b))
    if a.dtype != b.dtype:
        return False
    same = np.frombuffer(a.tobytes(), np.uint8) == np.frombuffer(b.tobytes(), np.uint8)
    same = same.reshape(a.size, a.itemsize).all(axis=1)
    return bool(np.all(same | (np.isnan(a) & np.isnan(b)).ravel()))


def same_value(a, b):
    """Return whether two values are the same text or, as numbers, the same bits."""
    try:
        numbers = np.array([float(a), float(b)])
    except (TypeError, ValueError):
        return str(a) == str(b)  # so that NaN in a list equals NaN
    return same_array(numbers[:1], numbers[1:])


def describe_difference(a, b):
    if not isinstance(a, np.ndarray):
        return f"{a} and {b}"
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{a.shape} and {b.dtype}{b.shape}"
    if a.dtype.kind != "f":
        return "different elements"
    return f"by up to {np.nanmax(np.abs(a - b), initial=0.0):.3g}"


def compare(facts_a, facts_b):
    """Return the number of equal facts and of all facts of two mappings, and the differences."""
    differences, equal = [], 0
    for name in sorted({*facts_a, *facts_b}):
        if name not in facts_a or name not in facts_b:
            differences.append(f"{name} only in {'A' if name in facts_a else 'B'}")
            continue
        a, b = facts_a[name], facts_b[name]
        if (same_array if isinstance(a, np.ndarray) else same_value)(a, b):
            equal += 1
        else:
            differences.append(f"{name} ({describe_difference(a, b)})")
    return equal, equal + len(differences), differences


def compare_case(case, checkouts, simulator):
    """Run a case in both checkouts. Return a row of the table, and whether all facts are equal."""
    with tempfile.TemporaryDirectory(prefix="same_bits-") as scratch:
        facts = []
        try:
            for letter, checkout in zip("ab", checkouts):
                place = Path(scratch) / letter
                place.mkdir()
                facts.append(facts_of(checkout.results(case, simulator, place)))
        except SkipCaseError as error:
            return (case, "-", "-", "-", f"skipped: {error}"), True
        except CommandError as error:
            return (case, "-", "-", "-", f"failed: {error}"), False
    arrays, values = (compare(facts[0][kind], facts[1][kind]) for kind in (0, 1))
    differences = [*arrays[2], *values[2]]
    recordings = len({name.split(":")[0] for name in facts[0][0]})
    if not arrays[1] or not values[1]:
        differences.append("nothing was compared")
    shown = differences[:SHOWN] + [f"{len(differences) - SHOWN} more"] * (len(differences) > SHOWN)
    counts = (f"{arrays[0]} of {arrays[1]}", f"{values[0]} of {values[1]}")
    return (case, str(recordings), *counts, "; ".join(shown)), not differences


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("a", metavar="A", help="a checkout")
    parser.add_argument("b", metavar="B", help="the checkout to compare it with")
    parser.add_argument("--simulator", default="embedded", help="embedded (default) or gazebo")
    parser.add_argument("--cases", default=",".join(CASES), help="of %(default)s")
    parser.add_argument("--no-cache", action="store_true", help="run all again")
    arguments = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):  # stop children and remove folders
        signal.signal(number, lambda *_: sys.exit("interrupted"))
    checkouts = [Checkout(path, not arguments.no_cache) for path in (arguments.a, arguments.b)]
    for letter, checkout in zip("AB", checkouts):
        print(f"{letter}: {checkout.path} at {checkout.commit}")
    line = "{:12}{:>10}  {:>14}  {:>16}  {}"
    print(line.format("case", "recordings", "arrays equal", "values equal", "differences"))
    passed = True
    for case in arguments.cases.split(","):
        row, same = compare_case(case, checkouts, arguments.simulator)
        print(line.format(*row), flush=True)
        passed &= same
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main())
