"""Separates overlapping bodies after they were placed, without accelerating them.

MuJoCo separates overlapping bodies within a few steps, and they keep that speed: a tray of 70 g
that starts 25 mm deep in its table leaves it at 5 m/s. Gazebo corrects the poses only. This module
does the same in the first steps after a body was placed; a later overlap results from motion.
Bodies with motors are excluded.
"""

from typing import Any, List, Sequence, Set, Tuple

import numpy as np

STEPS = 40
"""Physics steps after a placement in which bodies are separated; each reduces the overlap to a
quarter, so that of meters nothing remains."""

OVERLAP_M = 0.002
"""A smaller overlap is not corrected; MuJoCo's resting contacts are a millimeter deep."""


class MujocoSettling:
    """The trees of joined bodies in one MuJoCo world, and the physics steps since a placement."""

    def __init__(self, model: Any, data: Any, held: Sequence[str] = ()) -> None:
        """Find the trees that can move and have no motor; ``held`` are joints with motors that are
        not actuators of MuJoCo."""
        self._model, self._data = model, data
        driven = _driven_trees(model)
        driven.update(int(model.body_treeid[model.joint(joint).bodyid[0]]) for joint in held)
        self._velocities = {
            tree: np.flatnonzero(model.dof_treeid == tree)
            for tree in range(model.ntree)
            if tree not in driven
        }
        self._steps_left = STEPS

    def begin(self) -> None:
        """Start to correct overlaps, after a body was placed."""
        self._steps_left = STEPS

    def before_step(self) -> List[Tuple[np.ndarray, np.ndarray]]:
        """Return indices and values of the velocities of the trees that overlap deeply."""
        if not self._steps_left:
            return []
        self._steps_left -= 1
        contact = self._data.contact
        deep = contact.geom[contact.dist < -OVERLAP_M].ravel()
        trees = set(self._model.body_treeid[self._model.geom_bodyid[deep]].tolist())
        found = [self._velocities[tree] for tree in sorted(trees) if tree in self._velocities]
        return [(indices, self._data.qvel[indices]) for indices in found]

    def after_step(self, before: List[Tuple[np.ndarray, np.ndarray]]) -> None:
        """Restore the velocities of trees that the separation has accelerated."""
        for indices, velocities in before:
            if np.linalg.norm(self._data.qvel[indices]) > np.linalg.norm(velocities):
                self._data.qvel[indices] = velocities


def _driven_trees(model: Any) -> Set[int]:
    """Return the trees with a body that an actuator drives, by a joint or at a site."""
    import mujoco

    at_site = model.actuator_trntype == mujoco.mjtTrn.mjTRN_SITE
    targets = model.actuator_trnid[:, 0]
    bodies = [*model.site_bodyid[targets[at_site]], *model.jnt_bodyid[targets[~at_site]]]
    return {int(model.body_treeid[body]) for body in bodies}
