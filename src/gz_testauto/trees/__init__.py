"""Behaviour trees: py_trees in simulated time, with what it lacks, and BehaviorTree.CPP's XML.

Needs py_trees, and nothing else of this package but its errors until a tree moves an actor
(:mod:`gz_testauto.actors.tree_leaves`).
"""

import inspect

from gz_testauto.base.errors import MissingDependencyError

_REMEDY = "python3 -m pip install 'gz_testauto[trees]'"


def _require_py_trees() -> None:
    try:
        import py_trees
    except ImportError as error:
        raise MissingDependencyError(f"behaviour trees need py_trees: {_REMEDY}") from error
    if "memory" not in inspect.signature(py_trees.composites.Sequence.__init__).parameters:
        raise MissingDependencyError(
            f"the py_trees in {py_trees.__file__} is too old (ROS Noetic has 0.7); behaviour trees "
            f"need 2.2 or later: {_REMEDY}, in an environment whose packages come before those of "
            "ROS on PYTHONPATH"
        )


_require_py_trees()
