"""What a robot is told of everything that moves around it: tracked objects.

Between simulator and planner, and not in the simulator, so that it is the same in every one;
:class:`~gz_testauto.tracking.tracker.ObjectTracker` makes it of the truth.
"""
