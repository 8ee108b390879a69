"""Report SDF elements that a simulator with a separate physics engine does not support.

All elements that no table lists are ignored with a warning.
"""

import logging
from typing import Callable, Dict, FrozenSet, List, Optional, Sequence, Set

from gz_testauto.base.errors import SdfError
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.tree import ModelNode
from gz_testauto.sdf.values import leading_numbers

LOGGER = logging.getLogger(__name__)


def _split_tags(text: str) -> FrozenSet[str]:
    return frozenset(text.split())


# supported children of each element, including children that do not affect motion and ranges
_UNDERSTOOD: Dict[str, FrozenSet[str]] = {
    "world": _split_tags(
        "physics gravity include model frame state scene light gui audio spherical_coordinates "
        "magnetic_field atmosphere wind actor"
    ),
    "model": _split_tags(
        "static self_collide include model pose frame link joint allow_auto_disable"
    ),
    "link": _split_tags("gravity pose inertial collision visual frame must_be_base_link"),
    "collision": _split_tags("pose geometry surface frame laser_retro max_contacts"),
    "surface": _split_tags("friction contact"),
    "friction": _split_tags("ode"),
    "contact": _split_tags("collide_bitmask"),
    "joint": _split_tags("parent child pose axis axis2 frame"),
    **dict.fromkeys(("axis", "axis2"), _split_tags("xyz limit dynamics use_parent_model_frame")),
    "limit": _split_tags("lower upper"),
}

# children of each element whose own children are also checked
_CHECKED = {
    "model": ("link", "joint"),
    "link": ("collision",),
    "collision": ("surface",),
    "surface": ("friction", "contact"),
    "joint": ("axis", "axis2"),
    "axis": ("limit",),
    "axis2": ("limit",),
}

# functions that return whether an element has no effect, by its tag or ``parent/tag``
_WITHOUT_EFFECT: Dict[str, Callable[[Element], bool]] = {
    "enable_wind": lambda element: _is_off(element),
    "kinematic": lambda element: _is_off(element),
    "self_collide": lambda element: _is_off(element),
    "velocity_decay": lambda element: _is_zero(element),
    "link/velocity": lambda element: True,  # has an effect only in a saved <state>
    "bounce": lambda element: _is_zero(element.find("restitution_coefficient")),
    "collide_without_contact": lambda element: _is_off(element),
    "torsional": lambda element: (
        _is_zero(element.find("patch_radius")) and _is_zero(element.find("surface_radius"))
    ),
    "limit/effort": lambda element: True,  # limits a joint's actuator; only wheels have one
    "limit/velocity": lambda element: not any(value > 0 for value in _numbers_in(element)),
    "visual": lambda element: True,
}

_REFUSED = {
    "population": "its models would be missing; use the world as saved by Gazebo, which contains "
    "its models, and remove each <population> from that",
    "kinematic": "a link that moves without forces; make its model static or the link a body",
    "collide_without_contact": "a collision that reports contacts without forces; remove it",
    "gearbox": "two joints that turn together; remove one of them",
}


class SdfCoverage:
    """A check for elements that ``simulator`` does not support. Each instance logs one warning for
    each type of unsupported element. With ``reads_visuals``, visuals are shapes for the lidar.
    ``supported`` are tags of elements that not all simulators support."""

    def __init__(
        self, simulator: str, reads_visuals: bool = False, supported: Sequence[str] = ()
    ) -> None:
        self.simulator = simulator
        self.reads_visuals = reads_visuals
        self._supported = supported
        self._logged_kinds: Set[str] = set()

    def check_world(self, document: SdfDocument) -> None:
        """Log warnings for unsupported elements of a world, except its models. Raises ``SdfError``
        for an element that must not be ignored."""
        if document.world is not None:
            self._check_children(document, document.world)

    def check_model(
        self, model: ModelNode, known_elements: FrozenSet[Element] = frozenset()
    ) -> None:
        """Check a model and its nested models as :meth:`check_world` does. ``known_elements`` are
        implemented by the simulator itself, for example the sensors of the robot."""
        for _, nested_model, _ in model.walk():
            self._check(nested_model.document, nested_model.element, known_elements)

    def warn_once(self, kind: str, message: str) -> None:
        if kind not in self._logged_kinds:
            self._logged_kinds.add(kind)
            LOGGER.warning("%s", message)

    def _check(
        self, document: SdfDocument, element: Element, known_elements: FrozenSet[Element]
    ) -> None:
        self._check_children(document, element, known_elements)
        for tag in _CHECKED.get(element.tag, ()):
            for child in element.findall(tag):
                self._check(document, child, known_elements)

    def _check_children(
        self,
        document: SdfDocument,
        parent: Element,
        known_elements: FrozenSet[Element] = frozenset(),
    ) -> None:
        kind = parent.tag
        for child in parent:
            if not isinstance(child.tag, str) or child.tag in _UNDERSTOOD[kind]:
                continue
            if child in known_elements or child.tag in self._supported:
                continue
            has_no_effect = _WITHOUT_EFFECT.get(
                f"{kind}/{child.tag}", _WITHOUT_EFFECT.get(child.tag)
            )
            if has_no_effect is not None and has_no_effect(child):
                continue
            problem = f"{document.where(child)}: <{child.tag}> of {_description(parent)}"
            if child.get("name"):
                problem = f"{document.where(child)}: {child.tag} {child.get('name')!r}"
            if child.tag in _REFUSED:
                raise SdfError(
                    f"{problem} is not simulated: {_REFUSED[child.tag]}. The simulator gazebo "
                    "supports it"
                )
            detail = child.get("filename") or child.get("type") or ""
            self.warn_once(
                f"{kind}/{child.tag}/{detail}",
                f"{problem}{f' ({detail})' if detail else ''} is ignored: "
                f"{self.simulator!r} does not support it. Further cases are not reported",
            )


def _description(element: Element) -> str:
    if element.get("name"):
        return f"{element.tag} {element.get('name')!r}"
    owners = [ancestor for ancestor in element.iterancestors() if ancestor.get("name")]
    named_owners = owners[:1] + [ancestor for ancestor in owners[1:] if ancestor.tag == "model"][:1]
    return " of ".join(
        [element.tag, *(f"{ancestor.tag} {ancestor.get('name')!r}" for ancestor in named_owners)]
    )


def _is_off(element: Element) -> bool:
    return (element.text or "").strip().lower() in ("", "0", "false")


def _is_zero(element: Optional[Element]) -> bool:
    return element is None or not any(_numbers_in(element))


def _numbers_in(element: Element) -> List[float]:
    return [value for text in element.itertext() for value in leading_numbers(text)[0]]
