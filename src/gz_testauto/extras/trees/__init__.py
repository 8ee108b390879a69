"""Behavior trees: py_trees in simulated time, with additional nodes, and BehaviorTree.CPP's XML.

``nodes`` and ``bt_xml`` require only py_trees; ``actor`` contains the leaves that move an actor.
"""
