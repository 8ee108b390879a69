"""Read a specification from YAML, and report each error with file and line.

Defines the steps from a file to a frozen specification. *All* errors are reported together, one per
line, as ``file:line: field ...``. Duplicate and unknown keys are errors. The fields are documented
at their class.
"""

import contextlib
import json
from pathlib import Path
from typing import (
    Any,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Tuple,
    Type,
    TypeVar,
    Union,
)

from pydantic import Tag, ValidationError
from typing_extensions import Annotated, Literal, get_args, get_origin

from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.spec.model import LocatedSpec, Spec, YamlLocation
from gz_testauto.spec.yaml_source import YamlSource, read_yaml_text

SpecType = TypeVar("SpecType", bound=Spec)

SUBPATH = "subpath"
"""Key in the context of an error: the path below the location that pydantic reports."""

MOST_ERRORS = 100
"""Largest number of errors in a message; more indicate another kind of file."""


def load(path: Path, spec_class: Type[SpecType]) -> SpecType:
    """Read ``path`` as a ``spec_class``; relative paths in it are relative to its directory.

    Raises ``SpecError`` with one line per error.
    """
    path = Path(path)
    return parse(read_yaml_text(path), spec_class, path)


def parse(
    text: str, spec_class: Type[SpecType], source: Path, called: Optional[str] = None
) -> SpecType:
    """Parse a text as :func:`load` does. ``source`` is the file in which it counts as written.
    ``called`` is the name in messages if this file does not exist."""
    name = str(source) if called is None else called
    document = YamlSource(text, name)
    if not isinstance(document.data, Mapping):
        raise SpecError(f"{name}:1: has no keys; a mapping of keys to values is needed")
    spec_class = spec_class.kind_of(document.data)
    try:
        spec = spec_class.model_validate(document.data, context={"source": Path(source).absolute()})
    except ValidationError as invalid:
        errors = invalid.errors()
        messages = {_describe(error, document, spec_class) for error in errors[:MOST_ERRORS]}
        lines = [f"{name}:{line}: {text}" for line, text in sorted(messages)]
        if len(errors) > MOST_ERRORS:
            lines.append(f"{name}: and {len(errors) - MOST_ERRORS} more errors")
        raise SpecError("\n".join(lines)) from None
    _store_locations(spec, document, name, ())
    return spec


def _store_locations(value: Any, document: YamlSource, name: str, path: Tuple[Any, ...]) -> None:
    """Store the location of each :class:`LocatedSpec` in a value."""
    if isinstance(value, (list, tuple)):
        for index, entry in enumerate(value):
            _store_locations(entry, document, name, (*path, index))
    if not isinstance(value, Spec):
        return
    fields = {field: getattr(value, field) for field in value.model_fields_set}
    for field, content in fields.items():
        _store_locations(content, document, name, (*path, field))
    if isinstance(value, LocatedSpec):
        below: List[Tuple[str, ...]] = [(field,) for field in fields]
        below += [
            (field, str(key))
            for field, content in fields.items()
            if isinstance(content, dict)
            for key in content
        ]
        line, found = document.locate(path)
        lines = {".".join(one): document.locate((*path, *one))[0] for one in below}
        value._location = YamlLocation(name, _dotted(found), line, lines)


def _describe(
    error: Mapping[str, Any], document: YamlSource, spec_class: Type[Spec]
) -> Tuple[int, str]:
    """Return the line and the text of one of pydantic's errors."""
    missing = error["type"] in ("missing", "union_tag_not_found")
    location = (*error["loc"], *error.get("ctx", {}).get(SUBPATH, ()))
    line, path = document.locate(location, missing=error["type"] == "missing")
    field = _dotted(path)
    if error["type"] == "extra_forbidden":
        known = _known_fields(spec_class, error["loc"][:-1], document.data)
        parent = _dotted(path[:-1])
        where = f"{parent}: " if parent else ""
        return line, where + unknown_name("key", str(error["loc"][-1]), known)
    if error["type"] == "union_tag_not_found":
        tag = str(error["ctx"]["discriminator"]).strip("'")
        field = f"{field}.{tag}" if field else tag
    if missing:
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
    """Return the text of one of pydantic's errors, which starts with the name ``field``."""
    kind, context = error["type"], error.get("ctx", {})
    found = f"{field} is {_shown(error['input'])}"
    if kind in _COMPARISONS:
        sign, limit = _COMPARISONS[kind]
        return f"{found}; it must be {sign} {context[limit]:g}"
    if kind in _KINDS:
        return f"{found}; it must be {_KINDS[kind]}"
    if kind in ("too_short", "too_long"):
        bound = context.get("min_length", context.get("max_length"))
        few = "few" if kind == "too_short" else "many"
        limit = "at least" if kind == "too_short" else "at most"
        return f"{field} has {context.get('actual_length')} entries, too {few}; {limit} {bound}"
    if kind == "union_tag_invalid":
        known = [tag.strip("' ") for tag in context["expected_tags"].split(",")]
        tag = context["discriminator"].strip("'")
        return f"{field}.{tag}: " + unknown_name(tag, str(context["tag"]), known)
    if kind == "literal_error":
        return f"{found}; it must be {context['expected']}"
    if kind == "string_pattern_mismatch":
        return f"{found}; it must match {context['pattern']}"
    if kind == "predicate":
        text = str(error["msg"])
        return f"{field}{text}" if text.startswith(".") else f"{field} {text}"
    if kind in ("must", "distribution"):
        return f"{found}; it {error['msg']}"
    if kind == "value_error":
        return f"{field}: {context['error']}" if field else str(context["error"])
    return f"{field}: {error['msg']}" if field else str(error["msg"])


def _shown(value: Any) -> str:
    """Return the value as short text, as in YAML."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _dotted(path: Tuple[Any, ...]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _known_fields(spec_class: Type[Spec], path: Iterable[Any], data: Any) -> List[str]:
    """Return the names of the fields at ``path`` (pydantic's error location of the mapping),
    sorted. ``data`` is the validated input, which selects the kind of a specification
    (:meth:`Spec.kind_of`)."""
    places: List[Any] = [spec_class]
    for part in path:
        deeper = [inner for place in places for inner in _step(place, part, data)]
        places = deeper or places
        if isinstance(data, (Mapping, list)):
            with contextlib.suppress(LookupError, TypeError):  # the tag of a union is not a key
                data = data[part]
    specs = (_chosen(spec, data) for place in places for spec in _specs(place))
    return sorted({name for spec in specs for name in spec.model_fields})


def _chosen(spec: Type[Spec], data: Any) -> Type[Spec]:
    return spec.kind_of(data) if isinstance(data, Mapping) else spec


def _step(place: Any, part: Any, data: Any) -> Iterator[Any]:
    """Yield the annotations that a key, an index or the tag of a union member leads to."""
    for tag, member in _members(place):
        if isinstance(member, type) and issubclass(member, Spec):
            member = _chosen(member, data)
        if tag == part:
            yield member
        elif isinstance(member, type) and issubclass(member, Spec):
            if part in member.model_fields:
                yield member.model_fields[part].annotation
        elif get_origin(member) in (list, tuple) and isinstance(part, int):
            yield get_args(member)[0]
        elif get_origin(member) is dict:
            yield get_args(member)[1]


def _specs(place: Any) -> List[Type[Spec]]:
    members = [member for _, member in _members(place)]
    return [m for m in members if isinstance(m, type) and issubclass(m, Spec)]


def _members(annotation: Any) -> Iterator[Tuple[Any, Any]]:
    """Yield the (tag, type) alternatives of an annotation, without ``Annotated`` and unions."""
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        tags = [item.tag for item in metadata if isinstance(item, Tag)]
        for tag, member in _members(inner):
            yield (tags[0] if tags else tag), member
    elif get_origin(annotation) is Union:
        for argument in get_args(annotation):
            yield from _members(argument)
    else:
        yield _literal_tag(annotation), annotation


def _literal_tag(annotation: Any) -> Any:
    """Return the value of a ``type: Literal[...]`` field, by which pydantic names union members."""
    if isinstance(annotation, type) and issubclass(annotation, Spec):
        field = annotation.model_fields.get("type")
        if field is not None and get_origin(field.annotation) is Literal:
            return get_args(field.annotation)[0]
    return None
