"""One loaded world on a gzserver, from the start to the end of the trial."""

import contextlib
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

import numpy as np
from lxml import etree

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.base.observation import ModelState, Snapshot
from gz_testauto.base.truncation import join_truncated
from gz_testauto.base.xml_file import parse_xml
from gz_testauto.sdf.edit import parse_model
from gz_testauto.simulators.changes import Change, Push, SetGravity, SetLight, SetModel
from gz_testauto.simulators.engine_robot import SeveralRobotsSimulation
from gz_testauto.simulators.gazebo.changes import (
    SUPPORTED_CHANGES,
    Impulses,
    PropertyMessages,
    check,
)
from gz_testauto.simulators.gazebo.engines import (
    UNSUPPORTED_CHANGES,
    restore_collisions,
    set_engine,
)
from gz_testauto.simulators.gazebo.instruments import (
    SPAWNED_PROBE,
    InstrumentedModel,
    InstrumentedRobot,
    instrument_model,
    remove_instruments,
)
from gz_testauto.simulators.gazebo.lockstep import LockStep
from gz_testauto.simulators.gazebo.messages import MESSAGES
from gz_testauto.simulators.gazebo.readings import ModelPoses, mean_twist
from gz_testauto.simulators.gazebo.robot import GazeboRobot
from gz_testauto.simulators.gazebo.split_world import SplitWorld, model_text
from gz_testauto.simulators.gazebo.transport import Publisher, RawCallback
from gz_testauto.simulators.gazebo.world import WorldLink, pose_from
from gz_testauto.simulators.interface import NamedModel, Scene
from gz_testauto.simulators.world_file import PhysicsSettings


class GazeboSimulation(SeveralRobotsSimulation[GazeboRobot]):
    """A world on a gzserver; see :class:`~gz_testauto.simulators.interface.Simulation`.

    Gazebo does not publish twists: a robot's twist is the mean of the last interval of at most
    ``period_s``, and the snapshots contain no twists of other models. Sensors measure during the
    rest at the end of an interval. They return a scan if it is due, one IMU sample, and the
    contacts of all physics steps except the first step after a rest.
    """

    changes = SUPPORTED_CHANGES

    def __init__(
        self,
        link: WorldLink,
        clock: LockStep,
        scene: Scene,
        split: SplitWorld,
        models: Sequence[InstrumentedModel],
        robots: Mapping[str, Tuple[InstrumentedRobot, Publisher]],
        suffix: str,
    ) -> None:
        super().__init__(split.physics.step_size_s, scene)
        self.changes = SUPPORTED_CHANGES - UNSUPPORTED_CHANGES[split.engine]
        self._properties = PropertyMessages(link, self._name_on_server)
        self._impulses = Impulses(link, self._name_on_server, split.physics.step_size_s)
        self._motions: Dict[str, Tuple[Any, Any]] = {}
        self._suffix = suffix
        self._link = link
        self._clock = clock
        self._split = split
        self._physics = split.physics
        self._onboard = {
            name: GazeboRobot(link, clock, instrumented, velocity, split.physics.gravity_mps2)
            for name, (instrumented, velocity) in robots.items()
        }
        self._instrumented = {instrumented.name: instrumented for instrumented in models}
        self._poses = ModelPoses()
        for name, pose in split.poses.items():
            self._poses.add(name, pose, split.links[name])
        for instrumented in models:
            self._poses.add(instrumented.name, instrumented.model.pose, instrumented.links)

    # used by other modules of this adaptor

    def begin(self, seed: int) -> None:
        """Connect to all sensors and set the time to zero, after all models are spawned."""
        self._link.ignore_models()
        for instrumented in self._instrumented.values():
            self._listen_to_probes(instrumented)
        for robot in self._onboard.values():
            robot.listen()
        self._link.wait_for_topics()
        self._clock.begin(seed)
        for robot in self._onboard.values():
            robot.begin()
        self._begin_sensors()

    @property
    def server_is_sound(self) -> bool:
        """True if the server can load another scene."""
        return self._link.server.alive and not self._link.broken

    @property
    def spawned(self) -> List[str]:
        """Names on the server of the spawned models."""
        return [instrumented.model.name for instrumented in self._instrumented.values()]

    def cancel_probes(self, names: Optional[Iterable[str]] = None) -> None:
        """Cancel the subscriptions to spawned probes, by default of all models, before the models
        are deleted."""
        # A new probe with the same name then has no subscriber.
        selected_names = (
            self._instrumented if names is None else self._instrumented.keys() & set(names)
        )
        self._link.unsubscribe(
            topic
            for name in selected_names
            for topic in self._instrumented[name].probes
            if SPAWNED_PROBE in topic
        )

    # methods of the interface

    def _snapshot(self) -> Snapshot:
        states = {name: ModelState(pose) for name, pose in self._poses.models.items()}
        for name, robot in self._onboard.items():
            states[name] = robot.state(self._poses.models[name])
        return self._make_snapshot(
            self._clock.time_ns / 1e9,
            states,
            self._poses.link_states(),
        )

    def _step(self, count: int) -> None:
        left_ns = count * self._clock.step_ns
        while left_ns:
            interval_ns = min(left_ns, self._clock.max_interval_ns)
            self._advance(interval_ns)
            left_ns -= interval_ns

    def _spawn(self, models: Sequence[NamedModel]) -> None:
        period_ns = self._clock.sensor_period_ns
        instrumented = [
            instrument_model(
                standalone_model(model), period_ns, self._suffix, self._split.engine, SPAWNED_PROBE
            )
            for model in models
        ]
        names = [model.name for model in instrumented]
        mark = self._link.server.log_size()
        try:
            self._link.spawn([model.model for model in instrumented])
        except SimulatorError:
            with contextlib.suppress(SimulatorError):  # the first error states the reason
                existing_models = self._link.list_models()
                server_names = [model.model.name for model in instrumented]
                self._link.delete([name for name in server_names if name in existing_models])
            raise
        for new_model in instrumented:
            self._instrumented[new_model.name] = new_model
            self._poses.add(new_model.name, new_model.model.pose, new_model.links)
        if any(model.probes for model in instrumented):
            # A probe measures in another thread as soon as it has a subscriber. gzserver crashes if
            # its world inserts a model at that moment. It announces the model before inserting it,
            # and answers a request in the update after that.
            self._link.list_models()
        for new_model in instrumented:
            self._listen_to_probes(new_model)
        self._link.wait_for_topics()
        self._clock.refresh()
        complaint = self._link.server.fatal_error_since(mark)
        if complaint is not None:
            self._delete(names)
            raise SimulatorError(f"gzserver could not spawn {join_truncated(names)}: {complaint}")

    def _delete(self, names: Sequence[str]) -> None:
        for name in names:
            self._impulses.drop(name)
            self._motions.pop(name, None)
        self.cancel_probes(names)
        self._link.delete([self._name_on_server(name) for name in names])
        for name in names:
            robot = self._onboard.pop(name, None)
            if robot is not None:
                robot.forget()
            self._poses.remove(name)
            instrumented = self._instrumented.pop(name, None)
            if instrumented is None:
                self._link.broken = True  # the next trial expects another base
            else:
                self._clock.sensors -= set(instrumented.probes)

    def _set_states(self, states: Mapping[str, ModelState]) -> None:
        """Set poses. The models keep their twists: Gazebo has no message for twists."""
        self._link.move(
            [(self._name_on_server(name), state.pose) for name, state in states.items()]
        )
        for name, state in states.items():
            self._poses.place(name, state.pose)
            if name not in self._instrumented:
                self._link.broken = True
        self._clock.refresh()

    def _apply(self, changes: Sequence[Change]) -> None:
        new_poses = {
            c.name: c.pose for c in changes if isinstance(c, SetModel) and c.pose is not None
        }
        if new_poses:
            self._set_states({name: ModelState(pose) for name, pose in new_poses.items()})
        property_changes = [c for c in changes if not isinstance(c, (SetModel, Push))]
        if property_changes:
            self._properties.send(property_changes, self._described_world.now)
        for change in property_changes:
            model = change.name.split("::")[0]
            # the next trial does not restore models of the base
            if isinstance(change, (SetGravity, SetLight)) or model not in self._instrumented:
                self._link.broken = True
        for change in changes:
            if isinstance(change, Push):
                self._impulses.push(change)
            elif isinstance(change, SetModel):
                self._set_twist(change)

    def _check_change(self, change: Change) -> None:
        check(change, lambda: self._described_world.now)

    def _set_twist(self, change: SetModel) -> None:
        """Set the twist of a model with one link by an impulse."""
        if not (change.linear_mps or change.angular_radps):
            return
        description = self._described_world.now
        (link,) = description.links_of(change.name)
        inertial = description.links[link].inertial
        assert inertial is not None, "checked by require()"
        linear, angular = self._motions.setdefault(change.name, (np.zeros(3), np.zeros(3)))
        angular_radps = np.asarray(
            angular if change.angular_radps is None else change.angular_radps
        )
        linear_mps = np.asarray(linear if change.linear_mps is None else change.linear_mps)
        rotation = self._poses.link_pose(link).rotation
        arm = rotation @ np.asarray(inertial.center_m)
        velocity_change = linear_mps - linear + np.cross(angular_radps - angular, arm)
        tensor = rotation @ inertial.matrix @ rotation.T
        self._impulses.set_impulse(
            link, inertial.mass_kg * velocity_change, tensor @ (angular_radps - angular)
        )

    def _save_world(self, path: Path) -> None:
        response = self._link.request("world_sdf")
        text = MESSAGES["GzString"].FromString(response.serialized_data).data
        try:
            root = parse_xml(text.encode())
        except etree.XMLSyntaxError as error:
            raise SimulatorError(f"gzserver saved a world that is not XML: {error}") from error
        remove_instruments(root.find("world"), self._instrumented.values())
        restore_collisions(root.find("world"), self._split.originals)
        for instrumented in self._instrumented.values():
            restore_collisions(root.find("world"), instrumented.originals)
        set_engine(root.find("world"), self._split.stated_engine)
        for physics in root.iter("physics"):
            for tag, value in (
                ("real_time_update_rate", self._physics.max_update_rate_hz),
                ("max_step_size", self._physics.step_size_s),
            ):
                for element in physics.iterchildren(tag):
                    element.text = repr(value)
        path.write_bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8"))

    def _model_names(self) -> Iterable[str]:
        return self._poses.models

    def _check_usable(self) -> None:
        super()._check_usable()
        if not self._link.server.alive:
            raise SimulatorError(f"gzserver has died: {self._link.server.describe_end()}")

    # methods in addition to the interface

    def physics(self) -> PhysicsSettings:
        self._check_usable()
        return self._physics

    def set_physics(self, settings: PhysicsSettings) -> None:
        """Change the physics step, gravity and update rate.

        The update rate is only written to saved worlds, since it has no effect in lock-step. The
        server is not used for another scene.
        """
        self._check_usable()
        gravity = MESSAGES["Vector3d"](**dict(zip("xyz", settings.gravity_mps2)))
        self._link.set_physics(gravity=gravity)
        self._clock.step_ns = round(settings.step_size_s * 1e9)
        self._physics, self.step_size_s = settings, settings.step_size_s
        self._link.broken = True

    # private methods

    def _name_on_server(self, name: str) -> str:
        return self._instrumented[name].model.name if name in self._instrumented else name

    def _advance(self, interval_ns: int) -> None:
        for robot in self._onboard.values():
            robot.deliver_command()
        self._impulses.deliver(
            interval_ns / 1e9, self._poses.link_pose, lambda: self._described_world.now
        )
        model_poses = {name: self._poses.models[name] for name in self._motions}
        robot_poses = {name: self._poses.models[name] for name in self._onboard}
        self._clock.advance(interval_ns)
        for name, pose in model_poses.items():
            linear, angular = mean_twist(pose, self._poses.models[name], interval_ns / 1e9)
            self._motions[name] = (np.asarray(linear), np.asarray(angular))
        for name, robot in self._onboard.items():
            robot.moved(robot_poses[name], self._poses.models[name], interval_ns / 1e9)

    def _listen_to_probes(self, instrumented: InstrumentedModel) -> None:
        for topic, link in instrumented.probes.items():
            self._clock.sensors.add(topic)
            self._link.listen(topic, "LaserScanStamped", self._probe_reader(topic, link))

    def _probe_reader(self, topic: str, link: str) -> RawCallback:
        def read(payload: bytes) -> None:
            message = MESSAGES["LaserScanStamped"].FromString(payload)
            self._poses.set_link(link, pose_from(message.scan.world_pose))
            self._clock.answered(topic)

        return read


def standalone_model(model: NamedModel) -> NamedModel:
    """Return the model with a complete ``<sdf>`` text, in version 1.7 if this is equivalent."""
    try:
        element = parse_model(model.sdf)
        root = parse_xml(model.sdf.strip().encode())
    except (SdfError, etree.XMLSyntaxError) as error:
        raise SimulatorError(f"cannot spawn {model.name!r}: {error}") from error
    text = model_text(element, _newest_version(element, root.get("version", "1.6")), model.name)
    return NamedModel(model.name, text, model.pose)


def _newest_version(element: etree._Element, version: str) -> str:
    """Return 1.7 for a model of SDF 1.6 that has the same meaning in both versions."""
    # Gazebo 11 converts older versions slowly. The versions differ in the frames of poses and in
    # the axes of joints (1_6.convert of libsdformat 9).
    is_different = version != "1.6" or element.xpath(".//joint | .//pose[@frame]")
    return version if is_different else "1.7"
