"""What SDF says that a simulator which is built from engine models does not do.

Owns the tables of elements that are understood, that change nothing here, that are left out
with a warning, and that are refused. An element in no table is left out with a warning, so
nothing is dropped silently.
"""

import logging
from typing import Callable, Dict, FrozenSet, List, Optional, Set

from gz_testauto.base.errors import SdfError
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.tree import ModelNode
from gz_testauto.sdf.values import leading_numbers

LOGGER = logging.getLogger(__name__)


def _tags(text: str) -> FrozenSet[str]:
    return frozenset(text.split())


_UNDERSTOOD: Dict[str, FrozenSet[str]] = {
    "world": _tags(
        "physics gravity include model frame state scene light gui audio spherical_coordinates "
        "magnetic_field atmosphere wind actor"
    ),
    "model": _tags("static self_collide include model pose frame link joint allow_auto_disable"),
    "link": _tags("gravity pose inertial collision visual frame must_be_base_link"),
    "collision": _tags("pose geometry surface frame laser_retro max_contacts"),
    "surface": _tags("friction contact"),
    "friction": _tags("ode"),
    "contact": _tags("collide_bitmask"),
    "joint": _tags("parent child pose axis axis2 frame"),
    "axis": _tags("xyz limit dynamics use_parent_model_frame"),
    "limit": _tags("lower upper"),
}
"""Children that are represented, or that no simulation of motion and ranges depends on."""

_WITHOUT_EFFECT: Dict[str, Callable[[Element], bool]] = {
    "enable_wind": lambda element: _is_off(element),
    "kinematic": lambda element: _is_off(element),
    "self_collide": lambda element: _is_off(element),
    "velocity_decay": lambda element: _is_zero(element),
    "link/velocity": lambda element: True,  # means something in a saved <state> only
    "bounce": lambda element: _is_zero(element.find("restitution_coefficient")),
    "collide_without_contact": lambda element: _is_off(element),
    "torsional": lambda element: (
        _is_zero(element.find("patch_radius")) and _is_zero(element.find("surface_radius"))
    ),
    "limit/effort": lambda element: True,  # of what drives a joint: nothing does but our wheels
    "limit/velocity": lambda element: not any(value > 0 for value in _values(element)),
    "visual": lambda element: True,
}
"""Elements that say nothing here when they say this; ``parent/`` where that depends on it."""

_REFUSED = {
    "population": "its models would be missing; take the world as Gazebo saves it, which has them "
    "written out, and remove every <population> from that",
    "kinematic": "a link that moves without forces; make its model static or the link a body",
    "collide_without_contact": "a collision that reports and does not push; remove it",
    "gearbox": "two joints that turn together; leave one of them out",
}


class SdfCoverage:
    """Looks through worlds and models for one ``simulator``; remembers what it has said
    already."""

    def __init__(self, simulator: str) -> None:
        self.simulator = simulator
        self._said: Set[str] = set()

    def check_world(self, document: SdfDocument) -> None:
        """Warn of, or refuse with ``SdfError``, what a world has beside its models."""
        if document.world is not None:
            self._look(document, document.world, "world", None)

    def check_model(self, model: ModelNode, understood: FrozenSet[Element] = frozenset()) -> None:
        """The same for a model with all that is nested in it. ``understood`` has elements that
        the simulator represents: the drive's plugin and the sensors of the robot."""
        for _, nested, _ in model.walk():
            document, element = nested.document, nested.element
            self._look(document, element, "model", understood)
            for link in element.findall("link"):
                self._look(document, link, "link", understood)
                for collision in link.findall("collision"):
                    self._check_collision(document, collision)
            for joint in element.findall("joint"):
                self._look(document, joint, "joint")
                for axis in (*joint.findall("axis"), *joint.findall("axis2")):
                    self._look(document, axis, "axis")
                    for limit in axis.findall("limit"):
                        self._look(document, limit, "limit")

    def warn_once(self, kind: str, message: str) -> None:
        """Warn, unless something of that kind was said before."""
        if kind not in self._said:
            self._said.add(kind)
            LOGGER.warning("%s", message)

    def _check_collision(self, document: SdfDocument, collision: Element) -> None:
        self._look(document, collision, "collision")
        for surface in collision.findall("surface"):
            self._look(document, surface, "surface")
            for friction in surface.findall("friction"):
                self._look(document, friction, "friction")
            for contact in surface.findall("contact"):
                self._look(document, contact, "contact")

    def _look(
        self,
        document: SdfDocument,
        parent: Element,
        kind: str,
        represented: Optional[FrozenSet[Element]] = None,
    ) -> None:
        for child in parent:
            if not isinstance(child.tag, str) or child.tag in _UNDERSTOOD[kind]:
                continue
            if represented is not None and child in represented:
                continue
            harmless = _WITHOUT_EFFECT.get(f"{kind}/{child.tag}", _WITHOUT_EFFECT.get(child.tag))
            if harmless is not None and harmless(child):
                continue
            where = f"{document.where(child)}: <{child.tag}> of {_called(parent)}"
            if child.get("name"):
                where = f"{document.where(child)}: {child.tag} {child.get('name')!r}"
            if child.tag in _REFUSED:
                raise SdfError(
                    f"{where} is not simulated: {_REFUSED[child.tag]}. Gazebo as simulator has it"
                )
            detail = child.get("filename") or child.get("type") or ""
            self.warn_once(
                f"{kind}/{child.tag}/{detail}",
                f"{where}{f' ({detail})' if detail else ''} is not simulated by "
                f"{self.simulator!r} and left out; said once for all of its kind",
            )


def _called(element: Element) -> str:
    """Return the tag and name of an element; of one without a name, the nearest element around it
    that has one, and its model."""
    if element.get("name"):
        return f"{element.tag} {element.get('name')!r}"
    owners = [one for one in element.iterancestors() if one.get("name")]
    named = owners[:1] + [one for one in owners[1:] if one.tag == "model"][:1]
    return " of ".join([element.tag, *(f"{one.tag} {one.get('name')!r}" for one in named)])


def _is_off(element: Element) -> bool:
    return (element.text or "").strip().lower() in ("", "0", "false")


def _is_zero(element: Optional[Element]) -> bool:
    return element is None or not any(_values(element))


def _values(element: Element) -> List[float]:
    """All numbers in an element and below it."""
    return [value for text in element.itertext() for value in leading_numbers(text)[0]]
