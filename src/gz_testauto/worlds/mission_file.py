"""The drawn missions of a campaign: the file ``missions.json`` in the directory of the worlds."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from gz_testauto.base.disk import MOST_BYTES
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.json_file import read_json_object, validate_as
from gz_testauto.sampling.missions import DrawnMission

MISSIONS_FILE = "missions.json"
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class StoredMission(DrawnMission):
    """The mission of the world ``world``, whose file has the hash ``sha256``."""

    world: str
    sha256: str


@dataclass(frozen=True)
class _Content:
    schema_version: int
    inputs: Mapping[str, Any]
    missions: Tuple[StoredMission, ...]


def read_missions(folder: Path) -> Tuple[Mapping[str, Any], List[StoredMission]]:
    """Return the inputs of the missions in ``folder``, and the missions in the order of the worlds;
    both are empty without a file. Raises ``ResultsError`` for a damaged file."""
    path = folder / MISSIONS_FILE
    if not os.path.isfile(path):
        return {}, []
    remedy = "remove it, so that the next run draws the same missions again"
    data = read_json_object(path, ResultsError, MOST_BYTES)
    content = validate_as(_Content, data, str(path), ResultsError, remedy)
    if content.schema_version != SCHEMA_VERSION:
        raise ResultsError(
            f"{path}: the file has schema version {content.schema_version}, but this program reads "
            f"version {SCHEMA_VERSION}; {remedy}"
        )
    return content.inputs, list(content.missions)


def missions_bytes(inputs: Mapping[str, Any], missions: Sequence[StoredMission]) -> bytes:
    """Return the content of the file, in UTF-8, with one line per mission."""
    head = json.dumps({"schema_version": SCHEMA_VERSION, "inputs": dict(inputs)}, indent=1)
    lines = ",\n".join("  " + json.dumps(_to_json(mission)) for mission in missions)
    return f'{head[:-2]},\n "missions": [\n{lines}\n ]\n}}\n'.encode()


def _to_json(mission: StoredMission) -> Dict[str, Any]:
    names = {"world": mission.world, "sha256": mission.sha256}  # first in each line
    return {**names, **vars(mission), "difficulty": vars(mission.difficulty)}
