"""Read a specification from YAML, and report each error with its file and line.

All errors are reported together, one per line, as ``file:line: field ...``.
"""

import contextlib
import json
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple, Type, TypeVar

from pydantic import BeforeValidator, ValidationError, ValidationInfo

from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.spec.model import CLASSES, LocatedSpec, Spec, YamlLocation, is_stored, resolve_path
from gz_testauto.spec.yaml_source import YamlSource, read_yaml_text

SpecType = TypeVar("SpecType", bound=Spec)

SUBPATH = "subpath"
"""Key in the context of a pydantic error, for the path from the reported location to the error."""

MOST_ERRORS = 100  # more errors mean a file of another kind of specification


def load(path: Path, spec_class: Type[SpecType]) -> SpecType:
    """Read the file ``path`` as a specification of ``spec_class``. Relative paths in the file are
    relative to its directory. Raises ``SpecError`` with one line per error.
    """
    path = Path(path)
    return parse(read_yaml_text(path), spec_class, path)


def from_file(spec_class: Type[Spec]) -> BeforeValidator:
    """Return a validator that replaces the path of a YAML file by its specification."""

    def read(value: Any, info: ValidationInfo) -> Any:
        if is_stored(info) or not isinstance(value, (str, Path)):
            return value
        return load(resolve_path(value, info), spec_class)

    return BeforeValidator(read)


def parse(
    text: str, spec_class: Type[SpecType], source: Path, called: Optional[str] = None
) -> SpecType:
    """Parse YAML text as :func:`load` does. Relative paths are relative to the directory of the
    file ``source``. For text that is not in a file, ``called`` replaces the file's name in
    messages."""
    name = str(source) if called is None else called
    document = YamlSource(text, name)
    if not isinstance(document.data, Mapping):
        raise SpecError(f"{name}:1: has no keys; a mapping of keys to values is needed")
    classes: Dict[int, Type[Spec]] = {}
    context = {"source": Path(source).absolute(), CLASSES: classes}
    try:
        spec = spec_class.kind_of(document.data).model_validate(document.data, context=context)
    except ValidationError as invalid:
        errors = invalid.errors()
        messages = {_describe(error, document, classes) for error in errors[:MOST_ERRORS]}
        lines = [f"{name}:{line}: {text}" for line, text in sorted(messages)]
        if len(errors) > MOST_ERRORS:
            lines.append(f"{name}: and {len(errors) - MOST_ERRORS} more errors")
        raise SpecError("\n".join(lines)) from None
    _store_locations(spec, document, name, ())
    return spec


def _store_locations(value: Any, document: YamlSource, name: str, path: Tuple[Any, ...]) -> None:
    if isinstance(value, (list, tuple)):
        for index, entry in enumerate(value):
            _store_locations(entry, document, name, (*path, index))
    if not isinstance(value, Spec):
        return
    fields = {field: getattr(value, field) for field in value.model_fields_set}
    for field, content in fields.items():
        _store_locations(content, document, name, (*path, field))
    if isinstance(value, LocatedSpec):
        subpaths: List[Tuple[str, ...]] = [(field,) for field in fields]
        subpaths += [
            (field, str(key))
            for field, content in fields.items()
            if isinstance(content, dict)
            for key in content
        ]
        line, existing_path = document.locate(path)
        lines = {".".join(subpath): document.locate((*path, *subpath))[0] for subpath in subpaths}
        value._location = YamlLocation(name, _dotted_path(existing_path), line, lines)


def _describe(
    error: Mapping[str, Any], document: YamlSource, classes: Mapping[int, Type[Spec]]
) -> Tuple[int, str]:
    """Return the line number and the message of a pydantic error."""
    is_missing = error["type"] in ("missing", "union_tag_not_found")
    location = (*error["loc"], *error.get("ctx", {}).get(SUBPATH, ()))
    line, path = document.locate(location, missing=error["type"] == "missing")
    field = _dotted_path(path)
    if error["type"] == "extra_forbidden":
        mapping = document.data
        for part in error["loc"][:-1]:
            with contextlib.suppress(LookupError, TypeError):  # the tag of a union is not a key
                mapping = mapping[part]
        known_keys = sorted(classes[id(mapping)].model_fields)
        parent = _dotted_path(path[:-1])
        prefix = f"{parent}: " if parent else ""
        return line, prefix + unknown_name("key", str(error["loc"][-1]), known_keys)
    if error["type"] == "union_tag_not_found":
        tag = str(error["ctx"]["discriminator"]).strip("'")
        field = f"{field}.{tag}" if field else tag
    if is_missing:
        return line, f"{field} is missing"
    return line, fault_text(field, error)


_KINDS = {
    "float_type": "a number",
    "float_parsing": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
    "is_instance_of": "a path",
    "finite_number": "finite",
}

_COMPARISONS = {
    "greater_than": (">", "gt"),
    "greater_than_equal": (">=", "ge"),
    "less_than": ("<", "lt"),
    "less_than_equal": ("<=", "le"),
}


def fault_text(field: str, error: Mapping[str, Any]) -> str:
    """Return the message for a pydantic error. It starts with the name ``field``."""
    kind, context = error["type"], error.get("ctx", {})
    problem = f"{field} is {_format_value(error['input'])}"
    if kind in _COMPARISONS:
        sign, limit = _COMPARISONS[kind]
        return f"{problem}; it must be {sign} {context[limit]:g}"
    if kind in _KINDS:
        return f"{problem}; it must be {_KINDS[kind]}"
    if kind in ("too_short", "too_long"):
        bound = context.get("min_length", context.get("max_length"))
        quantity = "few" if kind == "too_short" else "many"
        limit = "at least" if kind == "too_short" else "at most"
        return (
            f"{field} has {context.get('actual_length')} entries, too {quantity}; {limit} {bound}"
        )
    if kind == "union_tag_invalid":
        known_tags = [tag.strip("' ") for tag in context["expected_tags"].split(",")]
        tag = context["discriminator"].strip("'")
        return f"{field}.{tag}: " + unknown_name(tag, str(context["tag"]), known_tags)
    if kind == "literal_error":
        return f"{problem}; it must be {context['expected']}"
    if kind == "string_pattern_mismatch":
        return f"{problem}; it must match {context['pattern']}"
    if kind == "predicate":
        text = str(error["msg"])
        return f"{field}{text}" if text.startswith(".") else f"{field} {text}"
    if kind in ("must", "distribution"):
        return f"{problem}; it {error['msg']}"
    if kind == "value_error":
        return f"{field}: {context['error']}" if field else str(context["error"])
    return f"{field}: {error['msg']}" if field else str(error["msg"])


def _format_value(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _dotted_path(path: Tuple[Any, ...]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
