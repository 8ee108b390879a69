"""The process that runs trials on a user's stack: one master, one rospy node, one trial at a time.

Owns the order *environment first, then rospy*. Started by
:mod:`~gz_testauto.ros.stack.executor`, which sends it trials; see :mod:`~gz_testauto.ros.session`.
"""

from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.ros import session
from gz_testauto.ros.master import start_master
from gz_testauto.ros.stack.protocol import StackSessionSettings


def start(
    settings: StackSessionSettings, report: session.ProgressCallback
) -> session.RequestHandler:
    """Start a master, join it, and return what runs a trial."""
    home = settings.logs / "ros_home"
    home.mkdir(parents=True, exist_ok=True)
    core = start_master(home, settings.logs, settings.campaign.spec.stack.start_timeout_s)
    import rospy  # now that the environment names its master

    try:
        from gz_testauto.ros.stack.trial import StackDrive
    except ImportError as error:
        core.close()
        package = (error.name or "").partition(".")[0]
        if not package or package == "gz_testauto":
            raise
        raise MissingDependencyError(
            f"no ROS package {package} for Python, which a campaign with stack needs ({error}): "
            "install or build it, and source its workspace's setup.bash in this shell"
        ) from error

    rospy.set_param("/use_sim_time", True)
    rospy.init_node("gz_testauto_trial", disable_signals=True)
    return StackDrive(settings, home, core, report).execute


if __name__ == "__main__":
    session.run(start)
