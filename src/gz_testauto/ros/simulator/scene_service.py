"""Loading of scenes: the first one of the parameters, and those of ``~load_scene``, with a
campaign's actors and randomization."""

from typing import Optional

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.ros.interface import existing_file
from gz_testauto.ros.simulator.actor_markers import ActorMarkers
from gz_testauto.ros.simulator.clock import SceneClock
from gz_testauto.ros.simulator.interface import SimulatorParameters
from gz_testauto.ros.simulator.loop import SimulationLoop
from gz_testauto.ros.tracked_objects import TrackedObjectsPublisher
from gz_testauto.sdf.robot import read_robot
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators.interface import Scene
from gz_testauto.spec.campaign import BuiltinCampaignSpec
from gz_testauto.srv import LoadSceneRequest, LoadSceneResponse
from gz_testauto.trial.actors import ActorContext, TrialActors, prepare_actors, tracker_of


def first_scene(parameters: SimulatorParameters) -> Optional[Scene]:
    """Return the scene of the parameters, or None without a world."""
    if parameters.world is None:
        return None
    model, robot = parameters.robot_model, None
    if model is not None:
        robot = read_robot(model, parameters.robot_name)
    return Scene(parameters.world, robot, Pose2D(*parameters.start), parameters.seed)


class SceneService:
    """Loads scenes on the loop's thread. ``campaign`` is the node's campaign, if any."""

    def __init__(
        self,
        loop: SimulationLoop,
        clock: SceneClock,
        actors: ActorMarkers,
        objects: TrackedObjectsPublisher,
        campaign: Optional[BuiltinCampaignSpec],
    ) -> None:
        self._loop, self._clock, self._actors, self._campaign = loop, clock, actors, campaign
        self._objects = objects

    def load_scene(self, request: LoadSceneRequest) -> LoadSceneResponse:
        """Load the requested scene."""
        robot = None
        if request.robot_model:
            model = existing_file(request.robot_model, "robot_model")
            robot = read_robot(model, request.robot_name or "robot")
        start = Pose2D(request.start.x, request.start.y, request.start.theta)
        scene = Scene(existing_file(request.world, "world"), robot, start, request.seed)
        self._load(scene, request)
        return LoadSceneResponse(
            success=True,
            message=f"{scene.world.name} is loaded",
            scene=self._loop.scene_number,
            stamp=ros_messages.time_message(self._clock.origin_ns),
        )

    def _load(self, scene: Scene, request: LoadSceneRequest) -> None:
        actors, tracker = TrialActors(), None
        if request.with_actors:
            context = self._actor_context(scene, request)
            actors = prepare_actors(context)  # in this thread, as Scenic requires
            tracker = tracker_of(context, actors)
        self._actors.start_scene(actors)
        self._objects.start_scene(tracker)
        self._loop.load(scene, actors)

    def _actor_context(self, scene: Scene, request: LoadSceneRequest) -> ActorContext:
        if self._campaign is None:
            raise SpecError("with_actors: the simulator node has no campaign; set ~campaign")
        assert scene.robot is not None, "a campaign's scene has a robot"
        return ActorContext(
            self._campaign,
            scene.robot,
            scene.start,
            request.world_index,
            scene.world,
            read_scene(scene.world),
            request.repetition,
        )
