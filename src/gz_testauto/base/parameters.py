"""Construct a plug-in from the name and the parameters that a YAML file specifies.

Parameters are validated against the signature of the plug-in. A plug-in states a range by
annotating a parameter with a type of this module or any pydantic type. For a plain ``float``,
``int``, ``bool`` or ``str``, only the type is checked. A parameter without annotation, or with a
type that pydantic does not support, is not checked.
"""

import inspect
from typing import Any, Dict, Mapping

from pydantic import Field, PydanticUserError, TypeAdapter, ValidationError
from typing_extensions import Annotated, get_type_hints

from gz_testauto.base.errors import GzTestautoError, ParameterError, PluginError, SpecError
from gz_testauto.base.registry import Registry, unknown_name

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""A finite number greater than zero."""

NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A finite number of zero or more."""

Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
"""A number from 0 to 1."""

Count = Annotated[int, Field(ge=1)]
"""A whole number of one or more."""

Seed = Annotated[int, Field(ge=0)]
"""A whole number of zero or more."""

_BARE = {float: Annotated[float, Field(allow_inf_nan=False)]}


def construct(registry: Registry, name: str, parameters: Mapping[str, Any], *arguments: Any) -> Any:
    """Construct the plug-in ``name`` of a registry.

    The plug-in is called with ``arguments``, which the caller sets, and with ``parameters``, which
    the user sets and which are validated first.

    Raises ``UnknownNameError`` for an unknown name, ``MissingDependencyError`` for a missing module
    that the plug-in imports, ``ParameterError`` under the conditions of :func:`check_parameters`,
    ``SpecError`` if the plug-in rejects a combination of values by a ``ValueError``, and
    ``PluginError`` for any other exception of the plug-in.
    """
    plugin = registry.get(name)
    checked = check_parameters(registry, name, parameters, len(arguments))
    try:
        return plugin(*arguments, **checked)
    except GzTestautoError:
        raise
    except ValueError as error:
        raise SpecError(f"{registry.kind} {name!r}: {error}") from error
    except Exception as error:  # a plug-in can raise any exception
        raise PluginError.of(f"{registry.kind} {name!r} cannot be constructed", error) from error


def check_parameters(
    registry: Registry, name: str, parameters: Mapping[str, Any], arguments: int = 0
) -> Dict[str, Any]:
    """Return the validated parameters for the plug-in ``name`` without constructing it.

    The first ``arguments`` positional parameters of the plug-in are set by the caller.

    Raises ``ParameterError`` for an unknown parameter, a value of a wrong type or out of range, and
    a missing parameter that has no default.
    """
    plugin, owner = registry.get(name), f"{registry.kind} {name!r}"
    known = dict(list(parameters_of(plugin).items())[arguments:])
    hints, signature = _annotations(plugin), inspect.signature(plugin)
    takes_any = inspect.Parameter.VAR_KEYWORD in {p.kind for p in signature.parameters.values()}
    checked: Dict[str, Any] = {}
    for key, value in parameters.items():
        if key in known:
            checked[key] = _check(owner, key, value, hints.get(key, Any))
        elif takes_any:
            checked[key] = value
        else:
            raise ParameterError(unknown_name(f"parameter of {owner}:", key, known), key)
    for key, parameter in known.items():
        if parameter.default is parameter.empty and key not in checked:
            missing = f"{owner}: the parameter {key!r} is missing and has no default; add it"
            raise ParameterError(missing, key)
    return checked


def parameters_of(plugin: Any) -> Dict[str, inspect.Parameter]:
    """Return the named parameters of a plug-in, in order."""
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(plugin).parameters
    return {name: one for name, one in parameters.items() if one.kind in named}


def schema_of(plugin: Any, name: str) -> Dict[str, Any]:
    """Return the type and the limits of a parameter that a plug-in declares, as a JSON schema with
    keys such as ``type``, ``minimum`` and ``enum``.

    It is empty for a parameter that is unknown, has no annotation, or has a type without a schema.
    """
    annotation = _annotations(plugin).get(name)
    if annotation is None:
        return {}
    try:
        return TypeAdapter(annotation).json_schema()
    except PydanticUserError:
        return {}


def _annotations(plugin: Any) -> Dict[str, Any]:
    function = inspect.unwrap(plugin.__init__) if inspect.isclass(plugin) else plugin
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError):  # a name imported for type checking only; a partial function
        return {}


def _check(owner: str, name: str, value: Any, annotation: Any) -> Any:
    try:
        adapter: TypeAdapter = TypeAdapter(_BARE.get(annotation, annotation))
    except PydanticUserError:  # a class of the plug-in
        return value
    try:
        return adapter.validate_python(value, strict=True)
    except ValidationError as error:
        problem = error.errors()[0]["msg"].replace("Input should be", "it must be")
        raise ParameterError(f"{owner}: {name} is {value!r}; {problem}", name) from error
