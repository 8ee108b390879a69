"""The session that runs trials on a user's stack: one master and one rospy node.

Sets the environment before rospy is imported. :mod:`~gz_testauto.ros.stack.executor` starts it and
sends it trials; see :mod:`~gz_testauto.ros.session`.
"""

from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.ros import session
from gz_testauto.ros.master import start_master
from gz_testauto.ros.stack.executor import StackSessionSettings


def start(
    settings: StackSessionSettings, report: session.ProgressCallback
) -> session.RequestHandler:
    """Start a master, connect to it, and return the handler that runs a trial."""
    home = settings.logs / "ros_home"
    home.mkdir(parents=True, exist_ok=True)
    core = start_master(home, settings.logs, settings.campaign.spec.stack.start_timeout_s)
    import rospy  # after the environment names its master

    try:
        from gz_testauto.ros.stack.trial import StackTrialRunner
    except ImportError as error:
        core.close()
        package = (error.name or "").partition(".")[0]
        if not package or package == "gz_testauto":
            raise
        raise MissingDependencyError(
            f"the ROS package {package} for Python is missing, which a campaign with stack needs "
            f"({error}): install or build it, and source its workspace's setup.bash in this shell"
        ) from error

    rospy.set_param("/use_sim_time", True)
    rospy.init_node("gz_testauto_trial", disable_signals=True)
    return StackTrialRunner(settings, home, core, report).execute


if __name__ == "__main__":
    session.run(start)
