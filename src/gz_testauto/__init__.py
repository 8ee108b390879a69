"""Monte Carlo testing of mobile-robot navigation in Gazebo.

The package is walked in the order in which data flows: :mod:`~gz_testauto.spec` says
what a campaign is, :mod:`~gz_testauto.sampling` and :mod:`~gz_testauto.sdf` make its
worlds, :mod:`~gz_testauto.simulators` and :mod:`~gz_testauto.planners` play in them,
:mod:`~gz_testauto.metrics` measures, :mod:`~gz_testauto.campaign` runs and stores, and
:mod:`~gz_testauto.analysis` and :mod:`~gz_testauto.report` compare.
"""

from pkgutil import extend_path

# The messages are generated into another directory, which catkin's own package of this name in
# the development space finds; processes that are started by ours come here without it.
__path__ = extend_path(__path__, __name__)

__version__ = "0.1.0"
