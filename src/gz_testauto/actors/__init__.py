"""Actors and other hooks, which move models and change the world during a trial.

A :class:`~gz_testauto.actors.hook.Hook` is called before each step and requests changes. An
:class:`~gz_testauto.actors.actor.Actor` is a hook with a model. An
:class:`~gz_testauto.actors.simulation.ActorSimulation` is a simulation with hooks. An
:class:`~gz_testauto.actors.tracker.ObjectTracker` converts the true states of models into tracked
objects for a planner, in the same manner for every simulator.
"""
