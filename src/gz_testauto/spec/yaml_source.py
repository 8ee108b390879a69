"""Parse YAML text, and find the line of each value.

The parser accepts safe YAML only. As in YAML 1.2, ``1e-3`` is a number and ``2024-01-01`` is text.
Values with another meaning in YAML 1.1, which ROS uses, are rejected, such as ``yes``, ``012`` and
``1:30``. Deep nesting, multiplying aliases and tags of values that are not plain are also errors.
"""

import re
from pathlib import Path
from typing import Any, Dict, Iterable, List, Tuple

import yaml

from gz_testauto.base.disk import read_text
from gz_testauto.base.errors import SpecError

MOST_BYTES = 1_000_000  # larger YAML would take minutes to read
"""Largest size (bytes) of YAML."""
MOST_LEVELS = 50
MOST_VALUES = 100_000
"""Largest number of values after the expansion of aliases."""

# YAML can express these characters by escapes, but file names and UTF-8 text cannot contain them.
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
_CORE_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)|0x[0-9a-fA-F]+")
_CORE_FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
_CORE_BOOL = re.compile("true|True|TRUE|false|False|FALSE")
_ONLY_1_2_INT = re.compile(r"[-+]?0[0-9]+|0o[0-7]+")
"""Numbers of YAML 1.2 with another meaning in YAML 1.1."""
_UNAMBIGUOUS = {"int": _CORE_INT, "float": _CORE_FLOAT, "bool": _CORE_BOOL}
"""Values with the same meaning in YAML 1.1 and 1.2, by their type."""

_LONGEST_SHOWN = 40

_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_VALUE = "tag:yaml.org,2002:value"
_BEYOND_PLAIN = (
    _TIMESTAMP,
    *(f"tag:yaml.org,2002:{kind}" for kind in ["binary", "omap", "pairs", "set"]),
)


class _Loader(yaml.SafeLoader):
    """A loader for plain values of safe YAML. Numbers are read as in YAML 1.2, and dates as
    text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._level = 0
        self._extent: Dict[int, Tuple[int, int]] = {}  # values and levels below each node

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        mark, is_alias = event.start_mark, isinstance(event, yaml.AliasEvent)
        self._level += 1
        if self._level > MOST_LEVELS:
            raise _yaml_error(f"is nested more than {MOST_LEVELS} levels deep", mark)
        node = super().compose_node(parent, index)
        self._level -= 1
        if isinstance(event, yaml.ScalarEvent) and event.tag is None and event.style is None:
            _require_unambiguous(node)
        if not is_alias:
            self._extent[id(node)] = self._measure(node, mark)
        elif id(node) not in self._extent:
            raise _yaml_error("an alias is inside the value that it refers to", mark)
        return node

    def _measure(self, node: Any, mark: Any) -> Tuple[int, int]:
        """Return the numbers of values and of levels in a node, with aliases expanded."""
        children = getattr(node, "value", ())
        if isinstance(node, yaml.MappingNode):
            children = [child for pair in children for child in pair]
        elif not isinstance(node, yaml.SequenceNode):
            match = _UNWRITABLE.search(node.value)
            if match:
                raise _yaml_error(f"{match.group()!r} is not allowed in text", mark)
            return 1, 1
        extents = [self._extent[id(child)] for child in children]
        values = 1 + sum(count for count, _ in extents)
        levels = 1 + max((depth for _, depth in extents), default=0)
        if values > MOST_VALUES:
            raise _yaml_error(f"has more than {MOST_VALUES} values, with each alias expanded", mark)
        if levels > MOST_LEVELS:
            raise _yaml_error(f"is nested more than {MOST_LEVELS} levels deep", mark)
        return values, levels

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (LookupError, ValueError, TypeError, AttributeError, OverflowError) as error:
            kind = node.tag.rpartition(":")[2]
            value_text = str(node.value)[:40]
            raise _yaml_error(
                f"{value_text!r} cannot be read as {kind}", node.start_mark
            ) from error


class AmbiguousValueError(SpecError):
    """Raised for a value that has different meanings in YAML 1.1 and YAML 1.2."""


class _AmbiguousScalar(yaml.MarkedYAMLError):
    """The loader's error for a value with different meanings in YAML 1.1 and YAML 1.2."""


def _require_unambiguous(node: Any) -> None:
    """Raise an error for a scalar without tag and quotes that depends on the version of YAML."""
    kind, text = node.tag.rpartition(":")[2], node.value
    pattern = _UNAMBIGUOUS.get(kind)
    if pattern is None:
        is_ambiguous = kind == "str" and _ONLY_1_2_INT.fullmatch(text)
    else:
        is_ambiguous = not pattern.fullmatch(text)
    if is_ambiguous:
        raise _AmbiguousScalar(
            problem=_describe_ambiguity(kind, text), problem_mark=node.start_mark
        )


def _describe_ambiguity(kind: str, text: str) -> str:
    if len(text) > _LONGEST_SHOWN:
        return (
            f"{text[:_LONGEST_SHOWN]!r}… has different meanings in YAML 1.1 and YAML 1.2; write a "
            "decimal number, or put the value in quotes for text"
        )
    old_value: Any = "text" if kind == "str" else yaml.safe_load(text)
    new_value: Any = "text"
    if _ONLY_1_2_INT.fullmatch(text):
        new_value = int(text.replace("0o", ""), 8 if "o" in text else 10)
    choices = dict.fromkeys(
        _write_scalar(value) for value in (old_value, new_value) if value != "text"
    )
    return (
        f"{text!r} is {_describe_meaning(old_value)} in YAML 1.1 and "
        f"{_describe_meaning(new_value)} in YAML 1.2; write {' or '.join(choices)}, or '{text}' "
        "in quotes for text"
    )


def _describe_meaning(value: Any) -> str:
    return value if value == "text" else _write_scalar(value)


def _write_scalar(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _yaml_error(text: str, mark: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=text, problem_mark=mark)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in (_TIMESTAMP, _VALUE)]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.yaml_constructors = {
    tag: constructor
    for tag, constructor in yaml.SafeLoader.yaml_constructors.items()
    if tag not in _BEYOND_PLAIN
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$"),
    list("-+0123456789."),
)


def read_yaml_text(path: Path) -> str:
    """Return the text of a YAML file. Raises ``SpecError`` if it cannot be read, is not UTF-8, or
    is too large."""
    return read_text(path, SpecError, MOST_BYTES)


class YamlSource:
    """A parsed YAML document. ``data`` consists of plain dicts, lists and scalars.

    Raises ``SpecError`` for invalid YAML or a repeated key, and ``AmbiguousValueError`` for a value
    whose meaning depends on the version of YAML.
    """

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        if len(text) > MOST_BYTES:
            raise SpecError(f"{name}: has {len(text)} characters; the limit is {MOST_BYTES}")
        try:
            loader = _Loader(text)
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            raise SpecError(
                f"{name}:{line}: the file is not YAML: it contains the control character "
                f"{chr(error.character)!r}; remove it"
            ) from error
        try:
            self._node = loader.get_single_node()
            self._check_keys()
            self.data: Any = loader.construct_document(self._node) if self._node else None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = f"{name}:{mark.line + 1}" if mark else name
            if isinstance(error, _AmbiguousScalar):
                raise AmbiguousValueError(f"{place}: {error.problem}") from error
            raise SpecError(f"{place}: is not YAML: {error.problem or error.context}") from error
        except yaml.YAMLError as error:
            raise SpecError(f"{name}: is not YAML: {error}") from error
        finally:
            loader.dispose()

    def locate(self, path: Iterable[Any], missing: bool = False) -> Tuple[int, Tuple[Any, ...]]:
        """Return the line (counted from 1) of the value at ``path``, and the parts of ``path`` that
        exist in the file. ``path`` contains keys and indices from the root, as in an error of
        pydantic.

        Parts that do not exist, such as names of union members, are skipped. If ``missing`` is
        True, the last part is kept even if it does not exist.
        """
        parts = list(path)
        line, existing_parts = 1, []
        node = self._node
        if isinstance(node, yaml.CollectionNode):
            line = node.start_mark.line + 1
        for position, part in enumerate(parts):
            step = self._child(node, part)
            if step is not None:
                line, node = step
                existing_parts.append(part)
            elif missing and position == len(parts) - 1:
                existing_parts.append(part)
        return line, tuple(existing_parts)

    @staticmethod
    def _child(node: Any, part: Any) -> Any:
        """Return the line and the node of a key or an index, or None."""
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == str(part):
                    return key.start_mark.line + 1, value
        elif isinstance(node, yaml.SequenceNode) and part in range(len(node.value)):
            child = node.value[part]
            return child.start_mark.line + 1, child
        return None

    def _check_keys(self) -> None:
        problems: List[str] = []
        stack, visited_ids = [self._node], set()
        while stack:
            node = stack.pop()
            if id(node) in visited_ids:  # an alias refers to the same node
                continue
            visited_ids.add(id(node))
            if isinstance(node, yaml.SequenceNode):
                stack.extend(node.value)
            if not isinstance(node, yaml.MappingNode):
                continue
            first_lines: Dict[str, int] = {}
            for key, value in node.value:
                stack.append(value)
                line = key.start_mark.line + 1
                if not isinstance(key, yaml.ScalarNode):
                    problems.append(
                        f"{self.name}:{line}: a mapping or a list is used as a key; "
                        "put text that holds { or [ in quotes"
                    )
                elif key.value in first_lines:
                    problems.append(
                        f"{self.name}:{line}: key {key.value!r} appears twice; "
                        f"it is already on line {first_lines[key.value]}"
                    )
                else:
                    first_lines[key.value] = line
        if problems:
            raise SpecError("\n".join(sorted(problems)))
