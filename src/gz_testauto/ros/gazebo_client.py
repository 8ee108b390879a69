"""A running Gazebo, ours or anybody's, through the services of gazebo_ros.

Owns the rule that what counts is what the simulator shows, not what a service answered:
gazebo_ros may say that a spawn timed out, because it waits in simulated time, while the model
appears. All waiting here is in wall time, since simulated time may stand still.
"""

import time
from typing import Callable, Dict, Iterable, List, Set

import rospy
from gazebo_msgs import srv

from gz_testauto import messages
from gz_testauto.errors import SimulatorError
from gz_testauto.geometry import Pose

LOOK_S = 0.1


class GazeboClient:
    """Calls ``/gazebo/*``. ``patience_s`` is how long, in wall time, a model may take to appear
    or go after the service has answered; every method raises ``SimulatorError``."""

    def __init__(self, patience_s: float = 10.0) -> None:
        self._patience_s = patience_s
        self._spawn = rospy.ServiceProxy("/gazebo/spawn_sdf_model", srv.SpawnModel)
        self._delete = rospy.ServiceProxy("/gazebo/delete_model", srv.DeleteModel)
        self._state = rospy.ServiceProxy("/gazebo/get_model_state", srv.GetModelState)
        self._world = rospy.ServiceProxy("/gazebo/get_world_properties", srv.GetWorldProperties)

    def model_names(self) -> Set[str]:
        """Names of all models in the world."""
        answer = _call(self._world, srv.GetWorldPropertiesRequest())
        if not answer.success:
            raise SimulatorError(f"/gazebo/get_world_properties: {answer.status_message}")
        return set(answer.model_names)

    def poses(self, names: Iterable[str]) -> Dict[str, Pose]:
        """World poses of these models; one that is gone meanwhile is left out."""
        found = {}
        for name in names:
            answer = _call(self._state, srv.GetModelStateRequest(name, "world"))
            if answer.success:
                found[name] = messages.pose_of(answer.pose)
        return found

    def spawn(self, name: str, sdf: str) -> None:
        """Add a model where its SDF says, and see it there."""
        request = srv.SpawnModelRequest(model_name=name, model_xml=sdf, reference_frame="world")
        request.initial_pose = messages.pose_message(Pose())
        answer = _call(self._spawn, request)
        # A refusal is believed, unless it speaks of time: a model that is shown all the same had
        # the name before.
        believed = answer.success or "timed out" in answer.status_message
        if not believed or not self._await(lambda: name in self.model_names()):
            raise SimulatorError(f"{name} was not spawned: {answer.status_message}")

    def delete(self, names: Iterable[str]) -> None:
        """Remove models and see them gone; tries all before it says which stayed."""
        said: List[str] = []
        wanted = set(names)
        for name in sorted(wanted):
            answer = _call(self._delete, srv.DeleteModelRequest(name))
            if not answer.success:
                said.append(f"{name}: {answer.status_message}")
        if not self._await(lambda: not (wanted & self.model_names())):
            left = ", ".join(sorted(wanted & self.model_names()))
            raise SimulatorError(f"still there after being deleted: {left} ({'; '.join(said)})")

    def _await(self, condition: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + self._patience_s
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(LOOK_S)
        return True


def _call(proxy: rospy.ServiceProxy, request: object) -> object:
    try:
        return proxy(request)
    except rospy.ServiceException as error:
        raise SimulatorError(
            f"{proxy.resolved_name} cannot be called: {error}; is a simulator running?"
        ) from error
