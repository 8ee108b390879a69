"""Turns the ``parameters`` of a campaign file into a planner, or says what is wrong with them.

Owns the reading of a planner's constructor signature: which parameters there are, of what
type, within what range. Refuses to know any planner in particular. A planner states a range
by annotating the argument with one of the types below; a bare ``float``, ``int``, ``bool`` or
``str`` is checked for its type alone.
"""

import inspect
from typing import Any, Dict, Mapping, Type, TypeVar

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import Annotated, get_type_hints

from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import unknown_name

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""A finite number above zero."""

NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A finite number of zero or more."""

Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
"""A number from 0 to 1."""

Count = Annotated[int, Field(ge=1)]
"""A whole number of one or more."""

Seed = Annotated[int, Field(ge=0)]
"""A whole number of zero or more."""

Made = TypeVar("Made")

_BARE = {float: Annotated[float, Field(allow_inf_nan=False)]}


def construct(
    plugin_name: str, cls: Type[Made], parameters: Mapping[str, Any], kind: str = "planner"
) -> Made:
    """Construct ``cls`` with ``parameters``, each checked against the constructor's signature.

    ``plugin_name`` and ``kind`` are only used in messages. Raises ``SpecError`` that names the
    plugin and the parameter when the plugin does not take it (with the ones it does), when it is
    of the wrong type or out of its range, and when the constructor itself refuses a combination
    with a ``ValueError``.
    """
    known = describe(cls)
    takes_any = any(
        parameter.kind is inspect.Parameter.VAR_KEYWORD
        for parameter in inspect.signature(cls).parameters.values()
    )
    checked: Dict[str, Any] = {}
    for name, value in parameters.items():
        if name in known:
            checked[name] = _check(f"{kind} {plugin_name!r}", name, value, known[name])
        elif takes_any:
            checked[name] = value
        else:
            raise SpecError(unknown_name(f"parameter of {kind} {plugin_name!r}:", name, known))
    try:
        return cls(**checked)
    except ValueError as error:
        raise SpecError(f"{kind} {plugin_name!r}: {error}") from error


def describe(cls: Type[Any]) -> Dict[str, Any]:
    """The parameters a plugin takes, by name, each with its annotation (``Any`` without)."""
    hints = get_type_hints(inspect.unwrap(cls.__init__), include_extras=True)
    keyword = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return {
        name: hints.get(name, Any)
        for name, parameter in inspect.signature(cls).parameters.items()
        if parameter.kind in keyword
    }


def _check(who: str, name: str, value: Any, annotation: Any) -> Any:
    adapter: TypeAdapter = TypeAdapter(_BARE.get(annotation, annotation))
    try:
        return adapter.validate_python(value, strict=True)
    except ValidationError as error:
        problem = error.errors()[0]["msg"].replace("Input should be", "it must be")
        raise SpecError(f"{who}: {name} is {value!r}; {problem}") from error
