"""Compare the inputs of stored results with those of the current command.

An input is a named value on which results depend. Results with different inputs must not be mixed.
"""

import json
import platform
from importlib import metadata
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

from gz_testauto import __version__
from gz_testauto.base.disk import hash_file, with_input
from gz_testauto.base.errors import ResultsError

SHOWN_DIFFERENCES = 5

SHA256 = "sha256:"  # prefix of an input's value that is the hash of a file
MODULE = ", module "  # separator in the name of an input that is a module of a plug-in

# Prefix of the name of an input that is a file to which worlds refer, such as a model.
WORLD_FILES = "file of the worlds "


def file_sha256(path: Path) -> str:
    """Return the SHA-256 sum of a file. Raises ``ResultsError`` if it cannot be read."""
    return with_input(path, ResultsError, lambda: hash_file(path))


def flatten(value: Any, prefix: str = "", lists: bool = True) -> Iterator[Tuple[str, Any]]:
    """Yield the name and the value of each leaf of nested mappings, such as ``robot.name``.

    If ``lists`` is true, lists are nested, too, with names such as ``goals[0]``. ``prefix`` is the
    name of ``value``.
    """
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from flatten(item, f"{prefix}.{key}" if prefix else str(key), lists)
    elif lists and isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from flatten(item, f"{prefix}[{index}]", lists)
    else:
        yield prefix, value


def differing_names(stored: Mapping[str, Any], current: Mapping[str, Any]) -> List[str]:
    no_value = object()
    names = sorted({*stored, *current})
    return [name for name in names if stored.get(name, no_value) != current.get(name, no_value)]


def comparable(stored: Mapping[str, Any], current: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the inputs ``current`` without modules of plug-ins and without files to which worlds
    refer, unless ``stored`` contains inputs of the same kind. Older manifests contain neither."""
    missing = [kind for kind in (MODULE, WORLD_FILES) if not any(kind in name for name in stored)]
    return {
        name: value for name, value in current.items() if not any(kind in name for kind in missing)
    }


def list_differences(stored: Mapping[str, Any], current: Mapping[str, Any]) -> List[str]:
    """Return one line for each input that differs: ``NAME is CURRENT, was STORED``."""
    return [
        f"{name} is {_describe_input(current, name)}, was {_describe_input(stored, name)}"
        for name in differing_names(stored, current)
    ]


def refuse_differences(
    path: Path,
    content: str,
    differences: Sequence[str],
    remedy: str = "specify a new directory with --out",
) -> None:
    """Raise ``ResultsError`` if ``differences``, lines of :func:`list_differences`, is not empty.
    ``content`` describes the content of ``path`` in the message, such as ``results of another
    campaign``."""
    if not differences:
        return
    lines = list(differences[:SHOWN_DIFFERENCES])
    if len(differences) > len(lines):
        lines.append(f"... and {len(differences) - len(lines)} more")
    text = "\n  ".join(lines)
    raise ResultsError(f"{path}: contains {content}; {remedy}. Differences:\n  {text}")


def software_versions(libraries: Sequence[str]) -> Dict[str, Any]:
    return {
        "gz_testauto": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": dict(_library_versions(libraries)),
    }


def _library_versions(libraries: Sequence[str]) -> Iterator[Tuple[str, str]]:
    for library in libraries:
        try:
            yield library, metadata.version(library)
        except metadata.PackageNotFoundError:
            continue


def _describe_input(inputs: Mapping[str, Any], name: str) -> str:
    if name not in inputs:
        return "not set"
    value = inputs[name]
    text = value if isinstance(value, str) else json.dumps(value)
    return f"{text[:15]}…" if text.startswith(SHA256) else text
