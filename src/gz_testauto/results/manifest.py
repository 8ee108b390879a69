"""What a campaign was run from: every input with its hash, and the versions that ran it.

Owns the identity of a results directory. Two runs belong together when everything that can
change a trial is equal: the campaign's fields, the *content* of every file it names (not where
the file lies), this package's version and the simulator. Where they differ, the message names
what does. Limits that only say how patient the runner is do not count.
"""

import hashlib
import json
import platform
import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from gz_testauto import __version__
from gz_testauto.base.disk import read_file
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.json_file import read_json_object, validate_as
from gz_testauto.results.directory import CampaignDirectory, write_atomically
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.trial.executor import SimulatorIdentity

FORMAT = 1

PATIENCE = (
    "limits.max_attempts",
    "limits.max_worker_deaths",
    "limits.stall_timeout_s",
    "limits.hang_timeout_s",
    "limits.repeat_alone_below_real_time_factor",
)
"""Fields of a campaign that change no valid trial."""

IMPORTED = "imported trials"
"""The only input of results that were imported."""

LIBRARIES = ("numpy", "scipy", "shapely", "lxml", "protobuf", "pydantic", "trimesh")

SHOWN_DIFFERENCES = 5


def file_sha256(path: Path) -> str:
    """Hash of a file's content, in hex. Raises ``ResultsError`` when it cannot be read."""
    try:
        return hashlib.sha256(read_file(path)).hexdigest()
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read: {error.strerror or error}") from error


def campaign_inputs(spec: CampaignSpec) -> Dict[str, str]:
    """Every field of the campaign by its dotted name, as JSON text; a path as its content.

    A directory is told by the names and contents of the ``.world`` files in it.
    """
    inputs = {}
    for name, value in _leaves("", spec.model_dump(mode="python")):
        if name in PATIENCE:
            continue
        if isinstance(value, Path):
            for suffix, digest in _content(value):
                inputs[name + suffix] = "sha256:" + digest
        else:
            inputs[name] = json.dumps(value)
    return inputs


def _leaves(prefix: str, value: Any) -> Iterator[Tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(f"{prefix}.{key}" if prefix else str(key), item)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _leaves(f"{prefix}[{index}]", item)
    else:
        yield prefix, value


def _content(path: Path) -> Iterator[Tuple[str, str]]:
    if path.is_dir():
        for world in sorted(path.glob("*.world")):
            yield f"/{world.name}", file_sha256(world)
    else:
        yield "", file_sha256(path)


@dataclass(frozen=True)
class _Simulator:
    name: str
    version: str


@dataclass(frozen=True)
class _Used:
    """What is read of a manifest again."""

    campaign: str
    inputs: Mapping[str, str]
    gz_testauto: str
    simulator: Optional[_Simulator]


_DIGEST = re.compile("[0-9a-f]{64}")


class Manifest:
    """``manifest.json`` of one directory, as it is on the disk or about to be."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._content = dict(content)

    @classmethod
    def of(cls, spec: CampaignSpec, files: Mapping[str, str]) -> "Manifest":
        """Describe a campaign on this machine. ``files`` maps the names of further input files
        (meshes, code) to their hashes, or to a description of the input."""
        inputs = {
            **campaign_inputs(spec),
            **{name: _as_input(told) for name, told in files.items()},
        }
        canonical = json.dumps(inputs, sort_keys=True).encode()
        return cls(
            {
                "format": FORMAT,
                "campaign": spec.name,
                "identity": "sha256:" + hashlib.sha256(canonical).hexdigest(),
                "seed": spec.seed,
                "inputs": dict(sorted(inputs.items())),
                "gz_testauto": __version__,
                "python": platform.python_version(),
                "platform": platform.platform(),
                "libraries": dict(_library_versions()),
                "simulator": None,
            }
        )

    @classmethod
    def imported(cls, name: str, source: Path, simulator: str = "") -> "Manifest":
        """Describe trials that others ran, by the file they were read from; the name and version
        of their simulator where it is known."""
        inputs = {IMPORTED: f"sha256:{file_sha256(source)}"}
        canonical = json.dumps(inputs, sort_keys=True).encode()
        known = {"name": simulator, "version": ""} if simulator else None
        return cls(
            {
                "format": FORMAT,
                "campaign": name,
                "identity": "sha256:" + hashlib.sha256(canonical).hexdigest(),
                "inputs": inputs,
                "gz_testauto": __version__,
                "platform": "",
                "simulator": known,
            }
        )

    @classmethod
    def read(cls, directory: CampaignDirectory) -> "Manifest":
        """Read the one in ``directory``. Raises ``ResultsError``."""
        directory.require_campaign()
        content = read_json_object(directory.manifest, ResultsError)
        if content.get("format") != FORMAT:
            raise ResultsError(
                f"{directory.manifest}: has format {content.get('format')}, not {FORMAT}; "
                "use the version of gz_testauto that wrote it"
            )
        validate_as(_Used, content, str(directory.manifest), ResultsError)
        return cls(content)

    def write(self, directory: CampaignDirectory) -> None:
        """Write it whole. Raises ``ResultsError`` when the disk refuses."""
        text = json.dumps(self._content, indent=2, ensure_ascii=False) + "\n"
        write_atomically(directory.manifest, text.encode("utf-8"))

    def is_same(self, stored: "Manifest") -> bool:
        """Whether both describe one campaign."""
        return not self._differences(stored, but_for="")

    def require_same(
        self, stored: "Manifest", directory: CampaignDirectory, but_for: str = ""
    ) -> None:
        """Raise ``ResultsError`` naming what differs, unless both describe one campaign.

        Inputs whose names begin with ``but_for``, unless that is empty, may differ.
        """
        differences = self._differences(stored, but_for)
        if not differences:
            return
        shown = differences[:SHOWN_DIFFERENCES]
        if len(differences) > len(shown):
            shown.append(f"... and {len(differences) - len(shown)} more")
        raise ResultsError(
            f"{directory.path}: holds results of another campaign "
            f"({stored._content['campaign']}); give another --out. What differs:\n  "
            + "\n  ".join(shown)
        )

    def differing_inputs(self, stored: "Manifest") -> List[str]:
        """Names of the inputs that are not the same in ``stored``, sorted."""
        there, here = stored._content["inputs"], self._content["inputs"]
        return [name for name in sorted({*there, *here}) if there.get(name) != here.get(name)]

    def _differences(self, stored: "Manifest", but_for: str) -> List[str]:
        there, here = stored._content["inputs"], self._content["inputs"]
        lines = [
            f"{name}: {_shown(there.get(name))} there, {_shown(here.get(name))} now"
            for name in self.differing_inputs(stored)
            if not (but_for and name.startswith(but_for))
        ]
        if stored._content["gz_testauto"] != __version__:
            lines.append(f"gz_testauto: {stored._content['gz_testauto']} there, {__version__} now")
        return lines

    def with_simulator(self, identity: SimulatorIdentity, bound: bool) -> "Manifest":
        """The same manifest, now that the simulator is known.

        ``bound`` says that trials have ended, on the simulator known before; then another one
        raises ``ResultsError``.
        """
        known = self._content["simulator"]
        running = {"name": identity.name, "version": identity.version}
        if bound and known is not None and known != running:
            raise ResultsError(
                f"campaign {self._content['campaign']} was begun on {known['name']} "
                f"{known['version']}; this is {identity.name} {identity.version}. Trials of two "
                "simulators are not comparable: give another --out"
            )
        return Manifest({**self._content, "simulator": running})

    @property
    def simulator(self) -> str:
        """Name and version of the simulator, empty before one was started."""
        known = self._content["simulator"]
        return f"{known['name']} {known['version']}".strip() if known else ""

    @property
    def content(self) -> Mapping[str, Any]:
        """Everything that it says, as JSON has it."""
        return dict(self._content)

    @property
    def inputs(self) -> Mapping[str, str]:
        """Every input by its name: a field's value as JSON text, or a file's hash."""
        return dict(self._content["inputs"])

    @property
    def gz_testauto(self) -> str:
        """The version of this package that ran the trials, or imported them."""
        return str(self._content["gz_testauto"])

    @property
    def platform(self) -> str:
        """The machine's system; empty where it is not known."""
        return str(self._content.get("platform", ""))

    @property
    def is_imported(self) -> bool:
        """Whether others ran the trials."""
        return IMPORTED in self._content["inputs"]


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    return f"{value[:15]}…" if value.startswith("sha256:") else str(value)


def _as_input(told: str) -> str:
    """A file's digest as such, and any other text as it is."""
    return f"sha256:{told}" if _DIGEST.fullmatch(told) else told


def _library_versions() -> Iterator[Tuple[str, str]]:
    for name in LIBRARIES:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
