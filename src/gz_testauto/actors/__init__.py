"""Actors and other hooks: all models that move in a world except the robot, and all changes.

A :class:`~gz_testauto.actors.hook.Hook` is called before each step and requests changes. An
:class:`~gz_testauto.actors.actor.Actor` is a hook with a model. An
:class:`~gz_testauto.actors.simulation.ActorSimulation` is a simulation with hooks. An
:class:`~gz_testauto.actors.tracker.ObjectTracker` converts true states of models into tracked
objects for a planner, identically for every simulator.
"""
