"""Moves apart what was placed inside something else, without throwing it.

MuJoCo pushes overlapping bodies apart within a few steps, and they keep that speed: a tray of 70 g
that starts 25 mm deep in its table leaves it at 5 m/s. Gazebo corrects the places and lets the
speeds be. Owns doing likewise in the first ticks after something was placed; later, whatever is
deep in something drove or fell there. What is driven by motors is left alone.
"""

from typing import Any, List, Sequence, Set, Tuple

import numpy as np

TICKS = 40
"""Ticks after a placement in which bodies are moved apart; in each a quarter of the way is left
behind, so that of meters nothing remains."""

OVERLAP_M = 0.002
"""What is no deeper than this is left to MuJoCo, whose resting contacts are a millimeter deep."""


class Settling:
    """Watches over the trees of joined bodies in one MuJoCo world."""

    def __init__(self, model: Any, data: Any, held: Sequence[str] = ()) -> None:
        """Take note of what can move and has no motor; ``held`` are joints with motors that are
        no actuators of MuJoCo's."""
        self._model, self._data = model, data
        driven = _driven_trees(model)
        driven.update(int(model.body_treeid[model.joint(joint).bodyid[0]]) for joint in held)
        self._velocities = {
            tree: np.flatnonzero(model.dof_treeid == tree)
            for tree in range(model.ntree)
            if tree not in driven
        }
        self._ticks = TICKS

    def begin(self) -> None:
        """Something was placed."""
        self._ticks = TICKS

    def before_tick(self) -> List[Tuple[np.ndarray, np.ndarray]]:
        """What is deep in something now: where its velocities are kept, and what they are."""
        if not self._ticks:
            return []
        self._ticks -= 1
        contact = self._data.contact
        deep = contact.geom[contact.dist < -OVERLAP_M].ravel()
        trees = set(self._model.body_treeid[self._model.geom_bodyid[deep]].tolist())
        found = [self._velocities[tree] for tree in sorted(trees) if tree in self._velocities]
        return [(velocities, self._data.qvel[velocities]) for velocities in found]

    def after_tick(self, held: List[Tuple[np.ndarray, np.ndarray]]) -> None:
        """Take back the speed that being moved apart has given; the places stay."""
        for velocities, before in held:
            if np.linalg.norm(self._data.qvel[velocities]) > np.linalg.norm(before):
                self._data.qvel[velocities] = before


def _driven_trees(model: Any) -> Set[int]:
    """The trees with a body on which an actuator acts, by a joint or at a site."""
    import mujoco

    at_site = model.actuator_trntype == mujoco.mjtTrn.mjTRN_SITE
    targets = model.actuator_trnid[:, 0]
    bodies = [*model.site_bodyid[targets[at_site]], *model.jnt_bodyid[targets[~at_site]]]
    return {int(model.body_treeid[body]) for body in bodies}
