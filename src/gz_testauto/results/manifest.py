"""Write and compare manifests: every input of a campaign with its hash, and software versions.

Two runs belong to one campaign if all inputs that can change a trial are equal: the campaign's
fields without :data:`PATIENCE`, the *content* of every file it names (not its path), this package's
version and the simulator.
"""

import dataclasses
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Dict, Iterator, List, Mapping, Optional, Tuple

from pydantic import ConfigDict
from typing_extensions import Final, Literal

from gz_testauto import BITS_VERSION, __version__
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.json_file import read_json_object, validate_as
from gz_testauto.results.comparability import (
    SHA256,
    comparable,
    differing_names,
    file_sha256,
    flatten,
    list_differences,
    refuse_differences,
    software_versions,
)
from gz_testauto.results.directory import CampaignDirectory, write_atomically
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.trial.executor import SimulatorIdentity

FORMAT: Final = 1

PATIENCE = (  # fields of a campaign that do not change valid trials
    "limits.max_attempts",
    "limits.max_worker_deaths",
    "limits.stall_timeout_s",
    "limits.hang_timeout_s",
    "limits.min_parallel_real_time_factor",
)

BITS = "version of the bits of gz_testauto"

IMPORTED = "imported trials"  # the only input of imported results

LIBRARIES = ("numpy", "scipy", "shapely", "lxml", "protobuf", "pydantic", "trimesh")


def campaign_inputs(spec: CampaignSpec) -> Dict[str, str]:
    """Return the fields of the campaign as JSON text, by dotted name, without :data:`PATIENCE`.

    The value of a path is the hash of the file, or of each ``.world`` file in a directory.
    """
    inputs = {}
    for name, value in flatten(spec.model_dump(mode="python")):
        if name in PATIENCE:
            continue
        if isinstance(value, Path):
            for suffix, digest in _hashes_of_path(value):
                inputs[name + suffix] = SHA256 + digest
        else:
            inputs[name] = json.dumps(value)
    return inputs


def _hashes_of_path(path: Path) -> Iterator[Tuple[str, str]]:
    if path.is_dir():
        for world in sorted(path.glob("*.world")):
            yield f"/{world.name}", file_sha256(world)
    else:
        yield "", file_sha256(path)


@dataclass(frozen=True)
class SimulatorVersion:
    """Name and version of a simulator in a manifest."""

    name: str
    version: str


@dataclass(frozen=True)
class RobotExtent:
    """The extent of a robot, with which its worlds are drawn without its model file."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(use_attribute_docstrings=True)

    footprint_m: Tuple[Tuple[float, float], ...]
    """Corners (m) of the outline of the robot in its base frame."""
    height_m: Tuple[float, float]
    """Lowest and highest point (m) of the robot above its base."""
    scan_height_m: float
    """Height (m) of the lidar, at which the static map is computed."""


@dataclass(frozen=True)
class ManifestFile:
    """The content of ``manifest.json``: the inputs and the software of a campaign.

    ``manifest.v1.schema.json`` is generated from these fields.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(use_attribute_docstrings=True)

    format: Literal[1]
    """Version of the schema."""
    campaign: str
    """Name of the campaign."""
    identity: str
    """SHA-256 of all inputs, with the prefix ``sha256:``."""
    seed: Optional[int]
    """Seed of the campaign, or null for imported trials."""
    inputs: Mapping[str, str]
    """Inputs by name. A value is the JSON text of a field, the hash of a file with the prefix
    ``sha256:``, or a description."""
    gz_testauto: str
    """Version of this package that ran or imported the trials."""
    python: str
    """Version of Python, empty for imported trials."""
    platform: str
    """Operating system, empty for imported trials."""
    libraries: Mapping[str, str]
    """Versions of Python libraries that results depend on, empty for imported trials."""
    simulator: Optional[SimulatorVersion]
    """Simulator of the trials, or null before its first start."""
    robot: Optional[RobotExtent]
    """Extent of the robot, or null for imported trials."""
    bits_version: Optional[int] = None
    """Version of the bits of worlds and trials, which a new version of this package can change.
    Null for imported trials; absent in manifests of older versions."""


@dataclass(frozen=True)
class _ReadFields:
    """The fields that are read from a manifest; other fields are ignored."""

    campaign: str
    inputs: Mapping[str, str]
    gz_testauto: str
    simulator: Optional[SimulatorVersion]
    robot: Optional[RobotExtent] = None
    bits_version: Optional[int] = None


_DIGEST = re.compile("[0-9a-f]{64}")


class Manifest:
    def __init__(self, content: Mapping[str, Any]) -> None:
        self._content = dict(content)

    @classmethod
    def of(
        cls, spec: CampaignSpec, files: Mapping[str, str], robot: Optional[RobotExtent] = None
    ) -> "Manifest":
        """Return the manifest of a campaign. ``files`` maps the names of further input files to
        hashes or descriptions."""
        inputs = {
            **campaign_inputs(spec),
            **{name: _with_hash_prefix(text) for name, text in files.items()},
        }
        file = ManifestFile(
            format=FORMAT,
            campaign=spec.name,
            identity=_hash_inputs(inputs),
            seed=spec.seed,
            inputs=dict(sorted(inputs.items())),
            **software_versions(LIBRARIES),
            bits_version=BITS_VERSION,
            simulator=None,
            robot=robot,
        )
        return cls(dataclasses.asdict(file))

    @classmethod
    def imported(cls, name: str, source: Path, simulator: str = "") -> "Manifest":
        """Return the manifest of trials of other software. ``simulator`` is name and version, empty
        if unknown."""
        inputs = {IMPORTED: SHA256 + file_sha256(source)}
        file = ManifestFile(
            format=FORMAT,
            campaign=name,
            identity=_hash_inputs(inputs),
            seed=None,
            inputs=inputs,
            gz_testauto=__version__,
            python="",
            platform="",
            libraries={},
            simulator=SimulatorVersion(simulator, "") if simulator else None,
            robot=None,
        )
        return cls(dataclasses.asdict(file))

    @classmethod
    def read(cls, directory: CampaignDirectory) -> "Manifest":
        directory.require_begun()
        content = read_json_object(directory.manifest, ResultsError)
        if content.get("format") != FORMAT:
            raise ResultsError(
                f"{directory.manifest}: the file has format {content.get('format')}, not {FORMAT}; "
                "use the version of gz_testauto that wrote it"
            )
        validate_as(_ReadFields, content, str(directory.manifest), ResultsError)
        return cls(content)

    def write(self, directory: CampaignDirectory) -> None:
        text = json.dumps(self._content, indent=2, ensure_ascii=False) + "\n"
        write_atomically(directory.manifest, text.encode("utf-8"))

    def is_same(self, stored: "Manifest") -> bool:
        return not self._differences(stored, ignored_prefix="")

    def require_same(
        self, stored: "Manifest", directory: CampaignDirectory, ignored_prefix: str = ""
    ) -> None:
        """Raise ``ResultsError`` unless this and the ``stored`` manifest describe the same
        campaign, except for inputs whose names start with ``ignored_prefix``."""
        content = f"results of another campaign ({stored._content['campaign']})"
        refuse_differences(directory.path, content, self._differences(stored, ignored_prefix))

    def differing_inputs(self, stored: "Manifest") -> List[str]:
        return differing_names(stored.inputs, comparable(stored.inputs, self.inputs))

    def _differences(self, stored: "Manifest", ignored_prefix: str) -> List[str]:
        current_inputs = comparable(stored.inputs, self._inputs_to_compare(ignored_prefix))
        if stored.bits_version is None:
            current_inputs.pop(BITS, None)
        return list_differences(stored._inputs_to_compare(ignored_prefix), current_inputs)

    def _inputs_to_compare(self, ignored_prefix: str) -> Dict[str, str]:
        inputs = self.inputs.items()
        kept_inputs = {
            name: value
            for name, value in inputs
            if not (ignored_prefix and name.startswith(ignored_prefix))
        }
        bits = {} if self.bits_version is None else {BITS: str(self.bits_version)}
        return {**kept_inputs, "gz_testauto": self.gz_testauto, **bits}

    def with_simulator(self, identity: SimulatorIdentity, bound: bool) -> "Manifest":
        """Return the manifest with the name and version of the simulator.

        If ``bound`` is true, since the results already contain trials, raises ``ResultsError`` for
        another simulator than the stored one.
        """
        stored_simulator = self._content["simulator"]
        simulator = {"name": identity.name, "version": identity.version}
        if bound and stored_simulator is not None and stored_simulator != simulator:
            raise ResultsError(
                f"campaign {self._content['campaign']} was started with {stored_simulator['name']} "
                f"{stored_simulator['version']}, not {identity.name} {identity.version}. Trials of "
                "two simulators are not comparable; specify a new directory with --out"
            )
        return Manifest({**self._content, "simulator": simulator})

    @property
    def simulator(self) -> str:
        simulator = self._content["simulator"]
        return f"{simulator['name']} {simulator['version']}".strip() if simulator else ""

    @property
    def content(self) -> Mapping[str, Any]:
        return dict(self._content)

    @property
    def inputs(self) -> Mapping[str, str]:
        return dict(self._content["inputs"])

    @property
    def robot(self) -> Optional[RobotExtent]:
        """The extent of the robot; None for imported trials and manifests of older versions."""
        robot = self._content.get("robot")
        return None if robot is None else RobotExtent(**robot)

    @property
    def gz_testauto(self) -> str:
        return str(self._content["gz_testauto"])

    @property
    def bits_version(self) -> Optional[int]:
        """The value of ``BITS_VERSION`` when the campaign started; None for imported trials and
        manifests of older versions."""
        return self._content.get("bits_version")

    @property
    def platform(self) -> str:
        return str(self._content.get("platform", ""))

    @property
    def is_imported(self) -> bool:
        return IMPORTED in self._content["inputs"]


def _hash_inputs(inputs: Mapping[str, str]) -> str:
    canonical = json.dumps(inputs, sort_keys=True).encode()
    return SHA256 + hashlib.sha256(canonical).hexdigest()


def _with_hash_prefix(text: str) -> str:
    return SHA256 + text if _DIGEST.fullmatch(text) else text
