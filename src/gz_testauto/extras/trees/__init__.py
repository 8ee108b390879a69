"""Behaviour trees: py_trees in simulated time, with additional nodes, and BehaviorTree.CPP's XML.

``nodes`` and ``bt_xml`` need py_trees and nothing else of this package but its errors; ``actor``
has the leaves that move an actor.
"""
