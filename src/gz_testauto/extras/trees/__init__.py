"""Behavior trees for actors: nodes for py_trees in simulated time, and the XML of BehaviorTree.CPP.

``nodes`` and ``bt_xml`` require only py_trees; ``actor`` contains the leaves that move an actor.
"""
