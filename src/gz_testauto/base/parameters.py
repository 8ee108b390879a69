"""Construct plug-ins from names and parameters in YAML files.

Parameters are validated against the plug-in's signature, which can have types of this module and
pydantic types.
"""

import inspect
from typing import Any, Dict, Mapping

from pydantic import Field, PydanticUserError, TypeAdapter, ValidationError
from typing_extensions import Annotated, get_type_hints

from gz_testauto.base.errors import GzTestautoError, ParameterError, PluginError, SpecError
from gz_testauto.base.registry import Registry, unknown_name

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]

NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]

Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]

Count = Annotated[int, Field(ge=1)]

Seed = Annotated[int, Field(ge=0)]

_BARE = {float: Annotated[float, Field(allow_inf_nan=False)]}


def construct(registry: Registry, name: str, parameters: Mapping[str, Any], *arguments: Any) -> Any:
    """Return the plug-in ``name``, constructed with ``arguments`` of the caller and ``parameters``
    of a user.

    Raises ``UnknownNameError``, ``ParameterError``, ``MissingDependencyError`` for a missing
    import, ``SpecError`` for a ``ValueError`` of the plug-in, and ``PluginError`` for any other
    exception.
    """
    plugin = registry.get(name)
    valid_parameters = check_parameters(registry, name, parameters, len(arguments))
    try:
        return plugin(*arguments, **valid_parameters)
    except GzTestautoError:
        raise
    except ValueError as error:
        raise SpecError(f"{registry.kind} {name!r}: {error}") from error
    except Exception as error:  # a plug-in can raise any exception
        raise PluginError.of(f"{registry.kind} {name!r} cannot be constructed", error) from error


def check_parameters(
    registry: Registry, name: str, parameters: Mapping[str, Any], arguments: int = 0
) -> Dict[str, Any]:
    """Return the validated parameters of a plug-in. The first ``arguments`` parameters of its
    constructor are set by the caller, not by the user. Raises ``ParameterError``."""
    plugin, owner = registry.get(name), f"{registry.kind} {name!r}"
    declarations = dict(list(parameters_of(plugin).items())[arguments:])
    hints, signature = _annotations(plugin), inspect.signature(plugin)
    takes_any = inspect.Parameter.VAR_KEYWORD in {p.kind for p in signature.parameters.values()}
    valid_parameters: Dict[str, Any] = {}
    for key, value in parameters.items():
        if key in declarations:
            valid_parameters[key] = _check_value(owner, key, value, hints.get(key, Any))
        elif takes_any:
            valid_parameters[key] = value
        else:
            raise ParameterError(unknown_name(f"parameter of {owner}:", key, declarations), key)
    for key, parameter in declarations.items():
        if parameter.default is parameter.empty and key not in valid_parameters:
            message = f"{owner}: the parameter {key!r} is missing and has no default; add it"
            raise ParameterError(message, key)
    return valid_parameters


def parameters_of(plugin: Any) -> Dict[str, inspect.Parameter]:
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(plugin).parameters
    return {name: parameter for name, parameter in parameters.items() if parameter.kind in kinds}


def schema_of(plugin: Any, name: str) -> Dict[str, Any]:
    """Return the JSON schema of a parameter, empty if its type is unknown."""
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


def _check_value(owner: str, name: str, value: Any, annotation: Any) -> Any:
    try:
        adapter: TypeAdapter = TypeAdapter(_BARE.get(annotation, annotation))
    except PydanticUserError:  # a class of the plug-in
        return value
    try:
        return adapter.validate_python(value, strict=True)
    except ValidationError as error:
        problem = error.errors()[0]["msg"].replace("Input should be", "it must be")
        raise ParameterError(f"{owner}: {name} is {value!r}; {problem}", name) from error
