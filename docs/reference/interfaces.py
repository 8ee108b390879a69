"""The names that a major version keeps: options, YAML keys, ROS names, Python names and versions.

``interfaces.md`` lists them. It never loses a name when it is written, so that a removed or renamed
interface is detected.
"""

import argparse
import ast
import importlib
import inspect
import re
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Set, Tuple

from yaml_keys import Group, keys_of, title

import gz_testauto
from gz_testauto.ros.interface import Node

Interfaces = Dict[str, Dict[str, Set[str]]]
"""Names by section of the page and by entry, such as ``Commands``, ``run`` and ``--out``."""

HOOKS = Path(__file__).resolve().parents[1] / "site" / "hooks.py"
VERSIONS = {
    "results.sqlite": "gz_testauto.results.schema:SCHEMA_VERSION",
    "manifest.json": "gz_testauto.results.manifest:FORMAT",
    "recordings": "gz_testauto.results.recordings:FORMAT",
    "worlds.json": "gz_testauto.worlds.manifest:SCHEMA_VERSION",
    "missions.json": "gz_testauto.worlds.mission_file:SCHEMA_VERSION",
}
"""Constants with the versions of files of the core."""


def of_commands(parsers: Mapping[str, argparse.ArgumentParser]) -> Iterator[Tuple[str, Set[str]]]:
    """Yield each command with its arguments and exit statuses."""
    for name, parser in parsers.items():
        arguments: Set[str] = set()
        for action in parser._actions:
            if not isinstance(action, (argparse._HelpAction, argparse._SubParsersAction)):
                arguments.update(action.option_strings or [str(action.metavar or action.dest)])
        description = " ".join((parser.description or "").split())
        statuses = re.findall(r"(?:Exit status|[.;]) (\d+(?:, \d+)*):", description)
        yield name, arguments | {f"status {code}" for text in statuses for code in text.split(", ")}


def of_keys(groups: Iterable[Group]) -> Iterator[Tuple[str, Set[str]]]:
    """Yield each kind of mapping in YAML files with its keys."""
    for group in groups:
        place = group.path or group.heading.replace("`", "")
        for spec in group.specs:
            kind = title(spec).replace("`", "") if len(group.specs) > 1 else ""
            yield f"{place} {kind}".strip(), {row.key for row in keys_of(spec)}


def of_nodes(nodes: Iterable[Node]) -> Iterator[Tuple[str, Set[str]]]:
    """Yield each ROS node with its parameters, topics, actions and services."""
    for node in nodes:
        entries = (
            *node.published,
            *node.subscribed,
            *node.served_actions,
            *node.used_actions,
            *node.services,
        )
        parameters = {f"~{row.key}" for row in keys_of(node.parameters)}
        yield f"node {node.name}", parameters | {entry.name for entry in entries}


def of_python() -> Iterator[Tuple[str, Set[str]]]:
    """Yield each module and class of the Python reference with its public names."""
    yield "gz_testauto", set(gz_testauto.__all__)
    for _, modules in _python_reference().values():
        for name in modules:
            module = importlib.import_module(f"gz_testauto.{name}")
            public = dict(_documented(vars(module), module.__name__))
            yield module.__name__, set(public)
            for member in filter(inspect.isclass, public.values()):
                members = set(dict(_documented(vars(member))))
                members |= set(getattr(member, "__dataclass_fields__", ()))
                yield f"{module.__name__}.{member.__name__}", members


def _python_reference() -> Mapping[str, Tuple[str, Tuple[str, ...]]]:
    # The hooks of the site import mkdocs, which this environment does not contain.
    (value,) = (
        node.value
        for node in ast.parse(HOOKS.read_text("utf-8")).body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "PYTHON_REFERENCE"
    )
    reference: Mapping[str, Tuple[str, Tuple[str, ...]]] = ast.literal_eval(value or "")
    return reference


def _documented(names: Mapping[str, Any], module: str = "") -> Iterator[Tuple[str, Any]]:
    for name, value in names.items():
        is_defined_here = not module or getattr(value, "__module__", "") == module
        if not name.startswith("_") and is_defined_here and inspect.getdoc(value):
            yield name, value


def of_files() -> Iterator[Tuple[str, Set[str]]]:
    """Yield each file of the core that has a version with its version."""
    for file, constant in VERSIONS.items():
        module, _, name = constant.partition(":")
        yield file, {str(getattr(importlib.import_module(module), name))}


def section_text(entries: Mapping[str, Set[str]]) -> List[str]:
    """Return the lines of a section, one per entry."""
    return [
        f"- `{entry}`: {' '.join(f'`{name}`' for name in sorted(names))}".rstrip(": ")
        for entry, names in sorted(entries.items())
    ]


def read_page(text: str) -> Interfaces:
    """Return the names of a page with texts of :func:`section_text`."""
    result: Interfaces = {}
    for line in text.splitlines():
        if line.startswith("## "):
            entries = result.setdefault(line[3:], {})
        elif line.startswith("- `"):
            entry, *names = re.findall(r"`([^`]*)`", line)
            entries[entry] = set(names)
    return result


def removed_names(stored: Interfaces, current: Interfaces) -> List[str]:
    """Return the stored names that do not exist any more, in the sections of ``current``."""
    removed = []
    for section in stored.keys() & current.keys():
        for entry, names in stored[section].items():
            missing = names - current[section].get(entry, set())
            if entry not in current[section]:
                removed.append(f"{section}: {entry}")
            elif missing:
                removed.append(f"{section}: {entry}: {', '.join(sorted(missing))}")
    return sorted(removed)


def merged(stored: Interfaces, current: Interfaces) -> Interfaces:
    """Return all names of both, with the extras, also deleted ones, after the core."""
    result: Interfaces = {}
    sections = sorted({*stored, *current}, key=lambda name: (name.startswith("Extra "), name))
    for section in sections:
        result[section] = {}
        for entries in (stored.get(section, {}), current.get(section, {})):
            for entry, names in entries.items():
                result[section][entry] = result[section].get(entry, set()) | names
    return result
