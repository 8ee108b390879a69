"""Identity of the inputs of stored runs, so that runs of different inputs are not mixed.

Inputs are in groups: the comparison as a whole, and each terrain, maneuver and entry. Groups can be
added or removed, but not changed. Weights, features, reference and baseline are not included.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Tuple

from gz_testauto import __version__
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.resources import model_file
from gz_testauto.extras.simulator_comparison.bench.plan import Plan
from gz_testauto.extras.simulator_comparison.bench.simulator_process import Identity
from gz_testauto.extras.simulator_comparison.bench.store import BenchDirectory
from gz_testauto.results.comparability import (
    SHA256,
    file_sha256,
    flatten,
    list_differences,
    refuse_differences,
    software_versions,
)

FORMAT = 1

LIBRARIES = ("numpy", "scipy", "psutil", "mujoco", "pybullet")

Inputs = Dict[str, Dict[str, Any]]


def bench_inputs(plan: Plan) -> Inputs:
    spec = plan.spec
    assert spec.robot is not None, "a bench with simulators"
    general = {"seed": spec.seed, "step_s": spec.step_s, "gz_testauto": __version__}
    inputs: Inputs = {"bench": general, "robot": dict(_fields(spec.robot.model_dump()))}
    for terrain in spec.terrains:
        inputs[f"terrain {terrain.name}"] = {
            **dict(_fields(terrain.model_dump())),
            "heights": _sha256(plan.terrains[terrain.name].heights_m.tobytes()),
        }
    for maneuver in spec.maneuvers:
        inputs[f"maneuver {maneuver.name}"] = {
            **dict(_fields(maneuver.model_dump())),
            "commands": _sha256(plan.commands[maneuver.name].tobytes()),
        }
    for entry in spec.simulated:
        fields = {"simulator": entry.simulator, "options": entry.options}
        inputs[f"entry {entry.name}"] = dict(_fields(fields))
    return inputs


class BenchManifest:
    def __init__(self, directory: BenchDirectory, plan: Plan) -> None:
        """Raise ``ResultsError`` if the directory has runs of other inputs."""
        self._directory = directory
        stored = directory.read_manifest() or {}
        if stored and stored.get("format") != FORMAT:
            raise ResultsError(
                f"{directory.manifest}: the format is {stored.get('format')}, but {FORMAT} is "
                "required; specify another directory with --out"
            )
        inputs = bench_inputs(plan)
        before: Mapping[str, Mapping[str, Any]] = stored.get("inputs", {})
        self._raise_if_different(list(_group_differences(before, inputs)))
        self._content: Dict[str, Any] = {
            "format": FORMAT,
            "bench": plan.spec.name,
            **software_versions(LIBRARIES),
            "inputs": {**before, **inputs},
            "simulators": dict(stored.get("simulators", {})),
        }

    def write(self) -> None:
        self._directory.write_json(self._directory.manifest, self._content)

    def note(self, entry: str, identity: Identity) -> None:
        """Store the version of a simulator. Raise ``ResultsError`` if another one is stored."""
        known = self._content["simulators"].get(entry)
        if known is None:
            self._content["simulators"][entry] = identity._asdict()
            self.write()
        elif known != identity._asdict():
            self._raise_if_different(
                [f"entry {entry}: version is {identity.version}, was {known['version']}"]
            )

    def _raise_if_different(self, differences: List[str]) -> None:
        refuse_differences(self._directory.path, "runs of another bench", differences)


def _group_differences(
    before: Mapping[str, Mapping[str, Any]], now: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    for group in now:
        if group in before:
            current = json.loads(json.dumps(now[group]))
            for difference in list_differences(before[group], current):
                yield f"{group}: {difference}"


def _fields(values: Mapping[str, Any]) -> Iterator[Tuple[str, Any]]:
    """Yield nested fields with dotted names. The hash of the content replaces the path of a
    file."""
    for name, value in flatten(values, lists=False):
        if isinstance(value, Path):
            value = SHA256 + file_sha256(model_file(value) if value.is_dir() else value)
        yield name, value


def _sha256(content: bytes) -> str:
    return SHA256 + hashlib.sha256(content).hexdigest()
