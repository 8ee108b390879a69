"""Behavior trees for actors: nodes for py_trees in simulated time, and the XML format of
BehaviorTree.CPP.

The modules ``nodes`` and ``bt_xml`` require only py_trees. The module ``actor`` contains the leaves
that move an actor.
"""
