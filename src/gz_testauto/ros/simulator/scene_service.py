"""Loading of scenes: the first one of the parameters, and those of ``~load_scene``, with a
campaign's actors and randomization."""

from typing import Optional, Tuple

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
            spec, site = self._campaign_site(scene)
            place = (request.world_index, request.repetition)
            actors = prepare_actors(spec, site, *place)  # in this thread, as Scenic requires
            tracker = tracker_of(spec, site, actors, *place)
        self._actors.start_scene(actors)
        self._objects.start_scene(tracker)
        self._loop.load(scene, actors)

    def _campaign_site(self, scene: Scene) -> Tuple[BuiltinCampaignSpec, ActorContext]:
        """Return the campaign and the site of its trial."""
        if self._campaign is None:
            raise SpecError("with_actors: the simulator node has no campaign; set ~campaign")
        assert scene.robot is not None, "a campaign's scene has a robot"
        site = ActorContext(scene.robot, scene.start, scene.world, read_scene(scene.world))
        return self._campaign, site
