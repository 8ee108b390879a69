"""What stored drives were made from, so that others are not put beside them.

Owns the identity of a bench's directory. Inputs come in groups: the bench as a whole, and each
terrain, drive and entry. A group that both the stored and the present bench have must be the same
in both; groups that only one has change nothing of what is stored, so that entries, drives,
terrains and repetitions can be added. Weights, features, and what is measured against what do not
count.
"""

import hashlib
import json
import platform
from importlib import metadata
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Tuple

from gz_testauto import __version__
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.resources import model_file
from gz_testauto.extras.simulator_comparison.bench.host import Identity
from gz_testauto.extras.simulator_comparison.bench.plan import Plan
from gz_testauto.extras.simulator_comparison.bench.store import BenchDirectory
from gz_testauto.results.manifest import file_sha256

FORMAT = 1

LIBRARIES = ("numpy", "scipy", "psutil", "mujoco", "pybullet")

SHOWN = 5

Inputs = Dict[str, Dict[str, Any]]


def bench_inputs(plan: Plan) -> Inputs:
    """By group, the fields and contents that decide a drive, as JSON has them."""
    spec = plan.spec
    assert spec.robot is not None, "there are simulators"
    whole = {"seed": spec.seed, "step_s": spec.step_s, "gz_testauto": __version__}
    found: Inputs = {"bench": whole, "robot": dict(_leaves("", spec.robot.model_dump()))}
    for terrain in spec.terrains:
        made = plan.terrains[terrain.name].heights_m
        found[f"terrain {terrain.name}"] = {
            **dict(_leaves("", terrain.model_dump())),
            "heights": _sha256(made.tobytes()),
        }
    for drive in spec.drives:
        found[f"drive {drive.name}"] = {
            **dict(_leaves("", drive.model_dump())),
            "commands": _sha256(plan.commands[drive.name].tobytes()),
        }
    for entry in spec.simulated:
        told = {"simulator": entry.simulator, "options": entry.options}
        found[f"entry {entry.name}"] = dict(_leaves("", told))
    return found


class BenchManifest:
    """``manifest.json`` of a directory, as it is now or about to be."""

    def __init__(self, directory: BenchDirectory, plan: Plan) -> None:
        """Raises ``ResultsError`` for a directory that has drives of another bench, and says what
        differs."""
        self._directory = directory
        stored = directory.read_manifest() or {}
        if stored and stored.get("format") != FORMAT:
            raise ResultsError(
                f"{directory.manifest}: has format {stored.get('format')}, not {FORMAT}; give "
                "another --out"
            )
        inputs = bench_inputs(plan)
        before: Mapping[str, Mapping[str, Any]] = stored.get("inputs", {})
        self._refuse(list(_differences(before, inputs)))
        self._content: Dict[str, Any] = {
            "format": FORMAT,
            "bench": plan.spec.name,
            "gz_testauto": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "libraries": dict(_versions()),
            "inputs": {**before, **inputs},
            "simulators": dict(stored.get("simulators", {})),
        }

    def write(self) -> None:
        """Store it. Raises ``ResultsError`` when the disk refuses."""
        self._directory.write_manifest(self._content)

    def note(self, entry: str, identity: Identity) -> None:
        """Say which simulator an entry's is. Raises ``ResultsError`` where drives of another
        version are stored."""
        known = self._content["simulators"].get(entry)
        if known is None:
            self._content["simulators"][entry] = identity._asdict()
            self.write()
        elif known != identity._asdict():
            self._refuse([f"entry {entry}: version is {identity.version}, was {known['version']}"])

    def _refuse(self, differences: List[str]) -> None:
        if not differences:
            return
        more = len(differences) - SHOWN
        shown = differences[:SHOWN] + ([f"... and {more} more"] if more > 0 else [])
        raise ResultsError(
            f"{self._directory.path}: holds drives of another bench; give another --out. What "
            "differs:\n  " + "\n  ".join(shown)
        )


def _differences(
    before: Mapping[str, Mapping[str, Any]], now: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    for group in now:
        if group not in before:
            continue
        old, new = before[group], json.loads(json.dumps(now[group]))
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                yield f"{group}: {name} is {_said(new, name)}, was {_said(old, name)}"


def _said(values: Mapping[str, Any], name: str) -> str:
    return json.dumps(values[name]) if name in values else "not given"


def _leaves(prefix: str, value: Any) -> Iterator[Tuple[str, Any]]:
    """Fields by dotted names; a file as its content."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(f"{prefix}.{key}" if prefix else str(key), item)
    elif isinstance(value, Path):
        yield prefix, "sha256:" + file_sha256(model_file(value) if value.is_dir() else value)
    else:
        yield prefix, value


def _sha256(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def _versions() -> Iterator[Tuple[str, str]]:
    for library in LIBRARIES:
        try:
            yield library, metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
