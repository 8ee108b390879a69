"""Publisher of the road and of tracked objects for a stack, if the campaign has them."""

from typing import Optional

import rospy

from gz_testauto.base import ros_messages
from gz_testauto.base.observation import Snapshot
from gz_testauto.msg import Road
from gz_testauto.ros.road_messages import road_message
from gz_testauto.ros.simulator import interface
from gz_testauto.ros.tracked_objects import TrackedObjectsPublisher
from gz_testauto.spec.campaign import StackCampaignSpec
from gz_testauto.trial.actors import TrialActors
from gz_testauto.trial.plan import Trial
from gz_testauto.trial.setup import PreparedStack

MARKERS = "/tracked"


class TrafficPublisher:
    """Publishes ``tracking`` and ``road`` of a campaign on the stack's topics."""

    def __init__(self, campaign: PreparedStack) -> None:
        self._campaign = campaign
        spec: StackCampaignSpec = campaign.spec
        names, self._frame = spec.stack.names, spec.stack.frames.map
        self._objects: Optional[TrackedObjectsPublisher] = None
        if spec.tracking is not None:
            self._objects = TrackedObjectsPublisher(
                interface.OBJECTS._replace(name=names.objects),
                interface.OBSTACLE_ARRAY._replace(name=names.obstacles),
                interface.TRACKED._replace(name=MARKERS),
                self._frame,
            )
        self._road: Optional[rospy.Publisher] = None
        if spec.has_road:
            self._road = rospy.Publisher(names.road, Road, queue_size=1, latch=True)

    def begin(self, trial: Trial, actors: TrialActors) -> None:
        """Publish the road of a trial, well before its goal."""
        if self._objects is not None:
            self._objects.start_scene(self._campaign.tracker(trial, actors))
        if self._road is not None:
            lanes = self._campaign.static_map.lanes(self._campaign.world(trial))
            self._road.publish(road_message(lanes, rospy.Time(), self._frame))

    def show(self, snapshot: Snapshot) -> None:
        """Publish the tracked objects at the end of a period."""
        if self._objects is not None:
            stamp = ros_messages.time_message(ros_messages.nanoseconds_of(snapshot.time_s))
            self._objects.show(snapshot, stamp)
