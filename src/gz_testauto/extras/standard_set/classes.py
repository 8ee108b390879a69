"""The scenario classes of ``config/standard/set.json``, with the hashes of their worlds."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Collection, Dict, List, Mapping, Optional, Sequence

from gz_testauto.base.errors import SpecError
from gz_testauto.base.json_file import read_json_object, validate_as
from gz_testauto.base.registry import unknown_name
from gz_testauto.base.resources import share_directory
from gz_testauto.results.comparability import file_sha256
from gz_testauto.spec.campaign import BuiltinCampaignSpec
from gz_testauto.spec.loader import load

FORMAT = 1
LIST_NAME = "set.json"
BASELINES = "baselines"  # folder with the cards of the planners of this package
BARN_FOLDER = "jackal_helper/worlds/BARN"


@dataclass(frozen=True)
class ScenarioClass:
    """A scenario class of the standard set: a campaign in fixed worlds.

    ``file`` is the campaign file, relative to the list. ``worlds`` are hashes by name, in order.
    ``needs`` is the environment variable that the campaign file uses, or empty.
    """

    title: str
    file: str
    sha256: str
    worlds: Mapping[str, str]
    needs: str = ""


@dataclass(frozen=True)
class _SetContent:
    format: int
    version: int
    classes: Mapping[str, ScenarioClass]


class StandardSet:
    """The installed version of the standard set. Raises ``SpecError`` if it cannot be read."""

    def __init__(self, folder: Optional[Path] = None) -> None:
        self.folder = share_directory() / "config" / "standard" if folder is None else folder
        path = self.folder / LIST_NAME
        content = validate_as(_SetContent, read_json_object(path, SpecError), str(path), SpecError)
        if content.format != FORMAT:
            raise SpecError(
                f"{path}: the file has format {content.format}, not {FORMAT}; install "
                "config/standard/ and gz_testauto in the same version"
            )
        self.version = content.version
        self.classes = content.classes

    def chosen(self, names: Optional[Sequence[str]]) -> List[str]:
        """Return the names of the selected classes, by default all, in the order of the set.

        Raises ``SpecError`` for an unknown class.
        """
        return chosen_classes(names, self.classes)

    def missing(self, name: str) -> str:
        """Return a text with the reason and the remedy if worlds of a class are missing, or ""."""
        needs = self.classes[name].needs
        if not needs:
            return ""
        root = os.environ.get(needs, "")
        if root and os.path.isdir(Path(root, BARN_FOLDER)):
            return ""
        state = f"{root} has no folder {BARN_FOLDER}" if root else "it is not set"
        return (
            f"class {name} needs a checkout of the BARN challenge in {needs}, but {state}: git "
            f"clone https://github.com/Daffan/the-barn-challenge && export "
            f"{needs}=$PWD/the-barn-challenge"
        )

    def path(self, name: str) -> Path:
        return self.folder / self.classes[name].file

    def card_path(self, text: str) -> Path:
        """Return the path of a card: ``text`` as a path or, if no such file exists, the installed
        card of the planner with this name.
        """
        stored = self.folder / BASELINES / f"{text}.json"
        return stored if not os.path.exists(text) and stored.is_file() else Path(text)

    def load(self, name: str) -> BuiltinCampaignSpec:
        """Return the campaign of a class, or raise ``SpecError`` if its file has changed."""
        path, expected = self.path(name), self.classes[name].sha256
        if file_sha256(path) != expected:  # results of other worlds must not have the set's name
            raise SpecError(
                f"{path}: the file differs from version {self.version} of the standard set "
                f"(sha256 {expected[:12]}…); restore the file. To run a changed file, use "
                "`gz_testauto run`"
            )
        return load(path, BuiltinCampaignSpec)

    def require_worlds(self, name: str, worlds: Mapping[str, str], count: Optional[int]) -> None:
        """Raise ``SpecError`` unless ``worlds`` are the names and hashes of the worlds of a class.

        With ``count``, they can be only the first worlds, but at least ``count``.
        """
        expected = list(self.classes[name].worlds.items())
        if count is not None:
            expected = expected[: max(count, len(worlds))]
        different = differing_worlds(dict(expected), worlds)
        if different:
            raise SpecError(
                f"class {name}: {different[0]} and {len(different) - 1} more worlds differ from "
                f"version {self.version} of the standard set; restore {self.path(name).parent} and "
                f"the worlds that {self.path(name).name} names, and install the versions of "
                "constraints.txt"
                if len(different) > 1
                else f"class {name}: the file of {different[0]} differs from version "
                f"{self.version} of the standard set; restore the file"
            )


def chosen_classes(names: Optional[Sequence[str]], known: Collection[str]) -> List[str]:
    """Return the selected names, by default all, in the order of ``known``.

    Raises ``SpecError`` for an unknown class.
    """
    for name in names or ():
        if name not in known:
            raise SpecError(f"--only: {unknown_name('class', name, known)}")
    return [name for name in known if names is None or name in names]


def differing_worlds(stored: Mapping[str, str], current: Mapping[str, str]) -> List[str]:
    """Return the names of the worlds that differ or exist in only one mapping, in order."""
    names = [*stored, *(name for name in current if name not in stored)]
    return [name for name in names if stored.get(name) != current.get(name)]


def listed_bytes(version: int, classes: Mapping[str, ScenarioClass]) -> bytes:
    """Return the content of the file that lists the classes."""
    content: Dict[str, object] = {
        "format": FORMAT,
        "version": version,
        "classes": {name: vars(scenario_class) for name, scenario_class in classes.items()},
    }
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode("utf-8")
