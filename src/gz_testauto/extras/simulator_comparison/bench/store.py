"""Files of a bench in its results directory.

=====================================  =====================================================
``bench.json``                         the bench as loaded, with absolute paths
``manifest.json``                      inputs and versions of the stored runs
``worlds/STEP_us/TERRAIN.world``       the worlds with this physics step
``runs/ENTRY/TERRAIN/MANEUVER/N.npz``  one run: its channels and its state
``grounds/ENTRY/TERRAIN.json``         result of the probe of an entry's ground
=====================================  =====================================================

Every file is written atomically; an existing file is complete.
"""

import io
import json
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Dict, Mapping, Optional

import numpy as np

from gz_testauto.base.disk import PARTIAL_SUFFIX
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.json_file import read_json_object, validate_as
from gz_testauto.extras.simulator_comparison.probe import GroundProbe
from gz_testauto.extras.simulator_comparison.recordings.recording import (
    CHANNELS,
    RunRecording,
    Series,
    SimulatorCost,
)
from gz_testauto.results.directory import RunDirectory, reporting_disk, write_atomically
from gz_testauto.results.recordings import read_arrays

HALF = "@half"  # suffix for a maneuver that runs at half the physics step


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A finished run: its recording, or the reason why it is ``invalid``."""

    recording: Optional[RunRecording]
    invalid: str = ""
    step_s: Optional[float] = None


class BenchDirectory(RunDirectory):
    CONTENT, COMMAND, MARKER = "comparison", "gz_testauto simulators compare", "bench.json"
    UNFINISHED = (
        f"*{PARTIAL_SUFFIX}",
        f"runs/*/*/*/*{PARTIAL_SUFFIX}",
        f"grounds/*/*{PARTIAL_SUFFIX}",
    )

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.bench = self.marker
        self.manifest = self.path / "manifest.json"

    def worlds(self, step_s: float) -> Path:
        return self.path / "worlds" / f"{round(step_s * 1e6)}_us"

    def run_path(self, entry: str, case: str, repetition: int) -> Path:
        return self.path / "runs" / entry / case / f"{repetition}.npz"

    def probe_path(self, entry: str, terrain: str) -> Path:
        return self.path / "grounds" / entry / f"{terrain}.json"

    def write_run(self, path: Path, run: StoredRun) -> None:
        content = io.BytesIO()
        np.savez(content, **_to_arrays(run))
        with reporting_disk(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content.getvalue())

    def read_run(self, path: Path) -> Optional[StoredRun]:
        if not path.is_file():
            return None
        try:
            return _run_from_arrays(read_arrays(path))
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise ResultsError(
                f"{path}: the file is not a valid stored run ({error}); remove it and repeat the "
                "command"
            ) from error

    def write_probe(self, ground: GroundProbe) -> None:
        self.write_json(self.probe_path(ground.entry, ground.terrain), asdict(ground))

    def read_probe(self, entry: str, terrain: str) -> Optional[GroundProbe]:
        path = self.probe_path(entry, terrain)
        if not path.is_file():
            return None
        return validate_as(
            GroundProbe, read_json_object(path, ResultsError), str(path), ResultsError
        )

    def read_manifest(self) -> Optional[Dict[str, Any]]:
        if not self.manifest.is_file():
            return None
        return dict(read_json_object(self.manifest, ResultsError))

    def write_json(self, path: Path, content: Mapping[str, Any]) -> None:
        with reporting_disk(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        write_atomically(path, text.encode())


def _to_arrays(run: StoredRun) -> Dict[str, np.ndarray]:
    recording = run.recording
    about: Dict[str, Any] = {"invalid": run.invalid, "step_s": run.step_s}
    arrays: Dict[str, np.ndarray] = {}
    if recording is not None:
        about["source"] = recording.source
        about["load"] = None if recording.load is None else asdict(recording.load)
        for name, series in recording.channels.items():
            arrays[f"{name}_time_s"], arrays[name] = series.time_s, series.values
    arrays["about"] = np.array(json.dumps(about, sort_keys=True))
    return arrays


def _run_from_arrays(arrays: Mapping[str, np.ndarray]) -> StoredRun:
    about = json.loads(str(arrays["about"]))
    if about["invalid"]:
        return StoredRun(None, about["invalid"], about["step_s"])
    channels: Dict[str, Any] = {
        name: Series(arrays[f"{name}_time_s"], arrays[name]) for name in CHANNELS if name in arrays
    }
    load = None if about["load"] is None else SimulatorCost(**about["load"])
    return StoredRun(RunRecording(about["source"], **channels, load=load), "", about["step_s"])
