"""The valid keys at a place of a specification, for "did you mean".

Owns the search along a field's path through type annotations. Values and lines belong to the
loader.
"""

import contextlib
from typing import Any, Iterable, Iterator, List, Mapping, Tuple, Type, Union

from pydantic import Tag
from typing_extensions import Annotated, Literal, get_args, get_origin

from gz_testauto.spec.model import Spec


def known_fields(spec_class: Type[Spec], path: Iterable[Any], data: Any) -> List[str]:
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
