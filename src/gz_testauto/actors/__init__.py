"""Actors and other hooks, which move models and change the world during a trial.

A :class:`~gz_testauto.actors.hook.Hook` is called before each step and requests changes. An
:class:`~gz_testauto.actors.actor.Actor` is a hook with a model.
"""
