"""A simulator's options as users give them, checked before anything is started.

Owns which options a simulator takes, by its constructor's signature, and of what kind. Campaigns
and the ROS node ask here. Whatever comes out can be handed to ``open_simulator``.
"""

import inspect
from typing import Any, Dict, Mapping, get_type_hints

from pydantic import PydanticUserError, TypeAdapter, ValidationError

from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.simulators import SIMULATORS, chosen_simulator

RENAMED = {"obstacles": "obstacle_names"}
"""Options of before, which matched the beginnings of names, by those that replace them."""


def options_taken(simulator: str) -> Mapping[str, inspect.Parameter]:
    """What the constructor of a simulator takes, by name. Raises ``UnknownNameError`` for a
    simulator that nobody registered."""
    return inspect.signature(SIMULATORS.get(chosen_simulator(simulator))).parameters


def takes_any(simulator: str) -> bool:
    """Whether it takes options of any name."""
    taken = options_taken(simulator).values()
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken)


def check_options(simulator: str, options: Mapping[str, Any]) -> None:
    """Raise ``SpecError`` for an option that the simulator does not take, or a value of another
    kind than it takes; ``UnknownNameError`` for a simulator that nobody registered."""
    taken = options_taken(simulator)
    for name in () if takes_any(simulator) else options:
        if name not in taken and RENAMED.get(name) in taken:
            raise SpecError(
                f"simulator_options.{name}: is called {RENAMED[name]} now, and matches whole "
                f"names; in a campaign give it as worlds.{RENAMED[name]}"
            )
        if name not in taken:
            raise SpecError(unknown_name(f"option of simulator {simulator!r}:", name, taken))
    kinds = _kinds(simulator)
    for name in options.keys() & kinds.keys():
        try:
            TypeAdapter(kinds[name]).validate_python(options[name], strict=True)
        except ValidationError as invalid:
            said = invalid.errors(include_url=False)[0]["msg"]
            raise SpecError(f"simulator_options.{name} is {options[name]!r}: {said}") from None
        except PydanticUserError:
            continue  # a kind of a plugin's own


def _kinds(simulator: str) -> Dict[str, Any]:
    """The types of the options, by name, as far as they are stated."""
    try:
        return get_type_hints(SIMULATORS.get(chosen_simulator(simulator)).__init__)
    except (AttributeError, NameError, TypeError):
        return {}
