"""How fast simulated time runs: capped, so that a navigation stack keeps up, and accounted for."""

import rospy
from gazebo_msgs.srv import GetPhysicsProperties, SetPhysicsProperties, SetPhysicsPropertiesRequest

from gz_testauto.errors import SimulatorError

SAME_SHARE = 1e-3


def cap_pace(factor: float) -> None:
    """Have the simulator run at most ``factor`` times as fast as the wall clock, by its update
    rate; all else of its physics stays. Raises ``SimulatorError`` when it refuses."""
    get = rospy.ServiceProxy("/gazebo/get_physics_properties", GetPhysicsProperties)
    set_ = rospy.ServiceProxy("/gazebo/set_physics_properties", SetPhysicsProperties)
    try:
        now = get()
        if not now.success or now.time_step <= 0.0:
            raise SimulatorError(f"/gazebo/get_physics_properties: {now.status_message}")
        rate_hz = factor / now.time_step
        if abs(now.max_update_rate - rate_hz) <= SAME_SHARE * rate_hz:
            return
        answer = set_(
            SetPhysicsPropertiesRequest(now.time_step, rate_hz, now.gravity, now.ode_config)
        )
    except rospy.ServiceException as error:
        raise SimulatorError(f"the pace cannot be set: {error}") from error
    if not answer.success:
        raise SimulatorError(f"/gazebo/set_physics_properties: {answer.status_message}")


def require_pace(simulated_s: float, wall_s: float, at_least: float) -> None:
    """Raise ``SimulatorError`` for a trial that ran too slowly to be one."""
    if wall_s > 0.0 and simulated_s / wall_s < at_least:
        raise SimulatorError(
            f"real-time factor {simulated_s / wall_s:.2f}, below stack.min_real_time_factor = "
            f"{at_least:g}: this machine is too slow or too busy; fewer --workers, a simpler "
            "world or a lower limit"
        )
