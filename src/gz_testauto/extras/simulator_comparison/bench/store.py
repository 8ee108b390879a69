"""What a bench leaves on the disk, so that it can be continued and read again.

=======================================  ==================================================
``bench.json``                           the bench as loaded, paths absolute
``manifest.json``                        what was driven with what: inputs, versions
``worlds/STEP_us/TERRAIN.world``         the worlds, with such a physics step
``drives/ENTRY/TERRAIN/DRIVE/N.npz``     one drive: channels, and what is to be said of it
``grounds/ENTRY/TERRAIN.json``           what a probe found of an entry's ground
=======================================  ==================================================

Every file is written whole or not at all; what there is of them is done.
"""

import io
import json
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Dict, Iterator, Mapping, Optional

import numpy as np

from gz_testauto.base.disk import PARTIAL_SUFFIX, read_file
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.json_file import read_json_object, validate_as
from gz_testauto.extras.simulator_comparison.recordings.recording import (
    CHANNELS,
    RunRecording,
    Series,
    SimulatorCost,
)
from gz_testauto.extras.simulator_comparison.run_conditions import GroundProbeSummary
from gz_testauto.results.directory import RunDirectory, reporting_disk, write_atomically

HALF = "@half"
"""Follows the name of a drive at half the physics step."""


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A drive that is done: a recording, or why it is ``invalid``."""

    recording: Optional[RunRecording]
    invalid: str = ""
    step_s: Optional[float] = None


class BenchDirectory(RunDirectory):
    """Paths in a comparison's directory, and what is in them."""

    CONTENT, COMMAND, MARKER = "comparison", "gz_testauto simulators compare", "bench.json"
    UNFINISHED = (
        f"*{PARTIAL_SUFFIX}",
        f"drives/*/*/*/*{PARTIAL_SUFFIX}",
        f"grounds/*/*{PARTIAL_SUFFIX}",
    )

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.bench = self.marker
        self.manifest = self.path / "manifest.json"

    def worlds(self, step_s: float) -> Path:
        """The folder of worlds with a physics step."""
        return self.path / "worlds" / f"{round(step_s * 1e6)}_us"

    def drive(self, entry: str, case: str, repetition: int) -> Path:
        """The file of one drive."""
        return self.path / "drives" / entry / case / f"{repetition}.npz"

    def ground(self, entry: str, terrain: str) -> Path:
        """The file of one probe."""
        return self.path / "grounds" / entry / f"{terrain}.json"

    def write_drive(self, path: Path, drive: StoredRun) -> None:
        """Store it. Raises ``ResultsError`` when the disk refuses."""
        content = io.BytesIO()
        np.savez(content, **_arrays(drive))
        with reporting_disk(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content.getvalue())

    def read_drive(self, path: Path) -> Optional[StoredRun]:
        """A drive that was stored, None where there is none. Raises ``ResultsError`` for a file
        that is no drive."""
        if not path.is_file():
            return None
        try:
            with np.load(io.BytesIO(read_file(path)), allow_pickle=False) as arrays:
                return _drive_of(dict(arrays))
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise ResultsError(
                f"{path}: is no stored drive ({error}); remove it, and the same command drives it "
                "again"
            ) from error

    def write_ground(self, ground: GroundProbeSummary) -> None:
        """Store what a probe found."""
        self._write_json(self.ground(ground.entry, ground.terrain), asdict(ground))

    def read_ground(self, entry: str, terrain: str) -> Optional[GroundProbeSummary]:
        """What was stored of a probe, None where nothing was. Raises ``ResultsError``."""
        path = self.ground(entry, terrain)
        if not path.is_file():
            return None
        return validate_as(
            GroundProbeSummary, read_json_object(path, ResultsError), str(path), ResultsError
        )

    def write_manifest(self, content: Mapping[str, Any]) -> None:
        """Store the manifest."""
        self._write_json(self.manifest, content)

    def read_manifest(self) -> Optional[Dict[str, Any]]:
        """The manifest that was stored, None where none was. Raises ``ResultsError``."""
        if not self.manifest.is_file():
            return None
        return dict(read_json_object(self.manifest, ResultsError))

    def _write_json(self, path: Path, content: Mapping[str, Any]) -> None:
        with reporting_disk(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        write_atomically(path, text.encode())


def _arrays(drive: StoredRun) -> Dict[str, np.ndarray]:
    recording = drive.recording
    about: Dict[str, Any] = {"invalid": drive.invalid, "step_s": drive.step_s}
    arrays: Dict[str, np.ndarray] = {}
    if recording is not None:
        about["source"] = recording.source
        about["load"] = None if recording.load is None else asdict(recording.load)
        for name, series in recording.channels.items():
            arrays[f"{name}_time_s"], arrays[name] = series.time_s, series.values
    arrays["about"] = np.array(json.dumps(about, sort_keys=True))
    return arrays


def _drive_of(arrays: Mapping[str, np.ndarray]) -> StoredRun:
    about = json.loads(str(arrays["about"]))
    if about["invalid"]:
        return StoredRun(None, about["invalid"], about["step_s"])
    channels = dict(_channels(arrays))
    load = None if about["load"] is None else SimulatorCost(**about["load"])
    return StoredRun(RunRecording(about["source"], **channels, load=load), "", about["step_s"])


def _channels(arrays: Mapping[str, np.ndarray]) -> Iterator[Any]:
    for name in CHANNELS:
        if name in arrays:
            yield name, Series(arrays[f"{name}_time_s"], arrays[name])
