"""One loaded world on a gzserver, from its beginning to the end of the trial.

Owns what is gathered during a step and what a snapshot is made of. How time passes is
:mod:`~gz_testauto.simulators.gazebo.lockstep`'s.
"""

from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

import numpy as np
from lxml import etree

from gz_testauto.brevity import listed
from gz_testauto.errors import SdfError, SimulatorError
from gz_testauto.observation import Contact, ImuSample, LaserScan, ModelState, Snapshot, Twist2D
from gz_testauto.pose import Pose
from gz_testauto.sdf.edit import parse_model
from gz_testauto.simulators.changes import Change, Push, SetGravity, SetLight, SetModel
from gz_testauto.simulators.gazebo.aliases import Alias
from gz_testauto.simulators.gazebo.changes import TAKEN, Impulses, PropertyMessages, check
from gz_testauto.simulators.gazebo.drive_command import DriveCommand
from gz_testauto.simulators.gazebo.instruments import (
    InstrumentedModel,
    InstrumentedRobot,
    instrument_model,
    remove_instruments,
)
from gz_testauto.simulators.gazebo.lockstep import LockStep
from gz_testauto.simulators.gazebo.messages import MESSAGES
from gz_testauto.simulators.gazebo.readings import (
    ImuReader,
    ModelPoses,
    contact_from,
    mean_twist,
    nanoseconds,
    scan_from,
)
from gz_testauto.simulators.gazebo.split_world import StagedWorld, model_text
from gz_testauto.simulators.gazebo.transport import Publisher, RawCallback
from gz_testauto.simulators.gazebo.world import WorldLink, pose_from
from gz_testauto.simulators.interface import NamedModel, PhysicsSettings, Scene, Simulation
from gz_testauto.xml_file import parse_xml


class GazeboSimulation(Simulation):
    """See :class:`~gz_testauto.simulators.interface.Simulation`.

    Gazebo does not tell twists: the robot's is its mean over the last stretch, of ``period_s``
    at most; other models have none. Everything is measured when the world rests at the end of
    a stretch: a scan when it has fallen due, an IMU sample every time, and contacts of all
    physics steps but the first after a rest.
    """

    changes = TAKEN

    def __init__(
        self,
        link: WorldLink,
        clock: LockStep,
        scene: Scene,
        staged: StagedWorld,
        models: Sequence[InstrumentedModel],
        robot: Optional[InstrumentedRobot],
        velocity: Optional[Publisher],
        alias: Alias,
    ) -> None:
        super().__init__(
            staged.physics.step_size_s, robot.robot if robot is not None else None, scene
        )
        self._properties = PropertyMessages(link, self._on_server)
        self._impulses = Impulses(link, self._on_server, staged.physics.step_size_s)
        self._motions: Dict[str, Tuple[Any, Any]] = {}
        self._alias = alias
        self._velocity = velocity
        self._link = link
        self._clock = clock
        self._physics = staged.physics
        self._robot = robot
        self._fitted = {fitted.name: fitted for fitted in models}
        self._poses = ModelPoses()
        self._scan: Optional[LaserScan] = None
        self._scans_taken = 0
        self._twist: Optional[Tuple[Any, Any]] = None
        self._imu: List[ImuSample] = []
        self._contacts: List[Contact] = []
        self._drive_command = DriveCommand(robot.robot) if robot is not None else None
        self._imu_reader: Optional[ImuReader] = None
        if robot is not None and robot.robot.imu is not None:
            mount = robot.robot.imu.mount
            self._imu_reader = ImuReader(staged.physics.gravity_mps2, mount)
        self._commanded: Optional[Twist2D] = None
        self._to_send: Optional[Any] = None
        for name, pose in staged.poses.items():
            self._poses.put(name, pose, staged.links[name])
        for fitted in models:
            self._poses.put(fitted.name, fitted.model.pose, fitted.links)

    # what the adaptor's other parts need

    def begin(self, seed: int) -> None:
        """Take up the world as it stands, with everything spawned, and set time to zero."""
        self._link.ignore_models()
        for fitted in self._fitted.values():
            self._listen_to_probes(fitted)
        if self._robot is not None:
            self._listen_to_robot(self._robot)
        self._link.wait_for_topics()
        self._clock.begin(seed)
        if self._imu_reader is not None:
            self._imu_reader.begin(self._clock.gazebo_ns)

    @property
    def server_is_sound(self) -> bool:
        """Whether the server can serve another scene after this one."""
        return self._link.server.alive and not self._link.broken

    @property
    def spawned(self) -> List[str]:
        """Names on the server of all models that are not part of the base."""
        return [fitted.model.name for fitted in self._fitted.values()]

    # the interface

    def _snapshot(self) -> Snapshot:
        states = {name: ModelState(pose) for name, pose in self._poses.models.items()}
        if self._robot is not None:
            name = self._robot.robot.name
            states[name] = ModelState(self._poses.models[name], *(self._twist or (None, None)))
        snapshot = Snapshot(
            time_s=self._clock.time_ns / 1e9,
            models=states,
            links=self._poses.link_states(),
            scan=self._scan,
            imu=tuple(self._imu),
            contacts=tuple(sorted(self._contacts, key=lambda contact: contact.stamp_s)),
        )
        self._imu.clear()
        self._contacts.clear()
        return snapshot

    def _drive(self, command: Twist2D) -> None:
        assert self._drive_command is not None, "the interface asks before"
        message = self._drive_command.message(command)
        if command != self._commanded:
            self._commanded, self._to_send = command, message

    def _step(self, count: int) -> None:
        left_ns = count * self._clock.step_ns
        while left_ns:
            stretch_ns = min(left_ns, self._clock.stretch_ns)
            self._advance(stretch_ns)
            left_ns -= stretch_ns

    def _spawn(self, models: Sequence[NamedModel]) -> None:
        period_ns = self._clock.sensor_period_ns
        fitted = [instrument_model(alone(model), period_ns, self._alias) for model in models]
        names = [one.name for one in fitted]
        mark = self._link.server.log_size()
        try:
            self._link.spawn([one.model for one in fitted])
        except SimulatorError:
            if not self._link.broken:
                present = self._link.list_models()
                self._link.delete([o.model.name for o in fitted if o.model.name in present])
            raise
        for one in fitted:
            self._fitted[one.name] = one
            self._poses.put(one.name, one.model.pose, one.links)
            self._listen_to_probes(one)
        self._link.wait_for_topics()
        self._clock.refresh()
        complaint = self._link.server.fatal_complaint_since(mark)
        if complaint is not None:
            self._delete(names)
            raise SimulatorError(f"gzserver could not spawn {listed(names)}: {complaint}")

    def _delete(self, names: Sequence[str]) -> None:
        for name in names:
            self._impulses.forget(name)
            self._motions.pop(name, None)
        self._link.delete([self._on_server(name) for name in names])
        if self._robot is not None and self._robot.robot.name in names:
            self._forget_robot(self._robot)
        for name in names:
            self._poses.forget(name)
            fitted = self._fitted.pop(name, None)
            if fitted is None:
                self._link.broken = True  # the base is no longer what the next trial expects
            else:
                self._clock.sensors -= set(fitted.probes)

    def _set_states(self, states: Mapping[str, ModelState]) -> None:
        """Models keep their velocity, which Gazebo cannot be told."""
        self._link.move([(self._on_server(name), state.pose) for name, state in states.items()])
        for name, state in states.items():
            self._poses.place(name, state.pose)
            if name not in self._fitted:
                self._link.broken = True
        self._clock.refresh()

    def _apply(self, changes: Sequence[Change]) -> None:
        placed = {c.name: c.pose for c in changes if isinstance(c, SetModel) and c.pose is not None}
        if placed:
            self._set_states({name: ModelState(pose) for name, pose in placed.items()})
        told = [c for c in changes if not isinstance(c, (SetModel, Push))]
        if told:
            self._properties.send(told, self._truth.now)
            if any(isinstance(c, (SetGravity, SetLight)) or not self._comes_anew(c) for c in told):
                self._link.broken = True  # the next trial expects it as it was
        for change in changes:
            if isinstance(change, Push):
                self._impulses.push(change)
            elif isinstance(change, SetModel):
                self._set_twist(change)

    def _check_change(self, change: Change) -> None:
        check(change, lambda: self._truth.now)

    def _comes_anew(self, change: Change) -> bool:
        """Whether what is changed is brought anew for the next trial."""
        return change.name.split("::")[0] in self._fitted

    def _set_twist(self, change: SetModel) -> None:
        """Kick a model of one link into its new twist: Gazebo can be told none."""
        if not (change.linear_mps or change.angular_radps):
            return
        truth = self._truth.now
        (link,) = truth.links_of(change.name)
        inertial = truth.links[link].inertial
        assert inertial is not None, "looked at before"
        linear, angular = self._motions.setdefault(change.name, (np.zeros(3), np.zeros(3)))
        turned = np.asarray(angular if change.angular_radps is None else change.angular_radps)
        moved = np.asarray(linear if change.linear_mps is None else change.linear_mps)
        rotation = self._poses.link_pose(link).rotation
        arm = rotation @ np.asarray(inertial.center_m)
        gained = moved - linear + np.cross(turned - angular, arm)
        tensor = rotation @ inertial.matrix @ rotation.T
        self._impulses.kick(link, inertial.mass_kg * gained, tensor @ (turned - angular))

    def _save_world(self, path: Path) -> None:
        response = self._link.ask("world_sdf")
        text = MESSAGES["GzString"].FromString(response.serialized_data).data
        try:
            root = parse_xml(text.encode())
        except etree.XMLSyntaxError as error:
            raise SimulatorError(f"gzserver saved a world that is not XML: {error}") from error
        self._alias.rename_saved(root.find("world"))
        remove_instruments(root.find("world"), self._fitted.values())
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
            raise SimulatorError(f"gzserver has died: {self._link.server.last_words()}")

    # beside the interface

    def describe_model(self, name: str) -> Any:
        """Gazebo's own description of a model, a ``gazebo.msgs.Model``: links, joints, whether
        it is static. Raises ``SimulatorError`` when there is no such model."""
        self._check_usable()
        self._check_known([name])
        if self._on_server(name) not in self._link.models:
            self._link.list_models()
        return self._alias.describe(self._link.models[self._on_server(name)])

    def physics(self) -> PhysicsSettings:
        """The settings that hold now."""
        self._check_usable()
        return self._physics

    def set_physics(self, settings: PhysicsSettings) -> None:
        """Change the step size and gravity. The update rate is noted and saved with the world;
        in lock-step it has no meaning."""
        self._check_usable()
        gravity = MESSAGES["Vector3d"](**dict(zip("xyz", settings.gravity_mps2)))
        self._link.set_physics(gravity=gravity)
        self._clock.step_ns = round(settings.step_size_s * 1e9)
        self._physics, self.step_size_s = settings, settings.step_size_s
        self._link.broken = True

    # inside

    def _on_server(self, name: str) -> str:
        return self._fitted[name].model.name if name in self._fitted else name

    def _advance(self, stretch_ns: int) -> None:
        self._deliver_command()
        self._impulses.deliver(stretch_ns / 1e9, self._poses.link_pose, lambda: self._truth.now)
        moved = {name: self._poses.models[name] for name in self._motions}
        if self._robot is None:
            self._clock.advance(stretch_ns)
            self._note_motions(moved, stretch_ns / 1e9)
            return
        name = self._robot.robot.name
        before = self._poses.models[name]
        self._clock.advance(stretch_ns)
        self._note_motions(moved, stretch_ns / 1e9)
        after = self._poses.models[name]
        self._twist = mean_twist(before, after, stretch_ns / 1e9)
        if self._imu_reader is not None:
            sample = self._imu_reader.sample(self._clock.time_ns, after)
            self._imu.extend([sample] if sample is not None else [])

    def _note_motions(self, before: Mapping[str, Pose], passed_s: float) -> None:
        """Take down the twists of what is given some."""
        for name, pose in before.items():
            linear, angular = mean_twist(pose, self._poses.models[name], passed_s)
            self._motions[name] = (np.asarray(linear), np.asarray(angular))

    def _deliver_command(self) -> None:
        """Send the command. Switching physics on takes a round trip, which it does not outlast."""
        if self._to_send is None or self._drive_command is None or self._velocity is None:
            return
        with self._link.watched("taking a command"):
            self._velocity.send(self._to_send)
        if not self._drive_command.repeat:
            self._to_send = None

    def _forget_robot(self, robot: InstrumentedRobot) -> None:
        """Wait no more for what it would measure, and command it no more."""
        self._clock.sensors.discard(str(robot.scan_topic))
        self._clock.motion_sensors -= {*robot.contact_topics, str(robot.imu_topic)}
        self._robot = self._drive_command = self._imu_reader = self._to_send = None

    def _listen_to_probes(self, fitted: InstrumentedModel) -> None:
        for topic, link in fitted.probes.items():
            self._clock.sensors.add(topic)
            self._link.listen(topic, "LaserScanStamped", self._probe_reader(topic, link))

    def _probe_reader(self, topic: str, link: str) -> RawCallback:
        def read(payload: bytes) -> None:
            message = MESSAGES["LaserScanStamped"].FromString(payload)
            self._poses.see(link, pose_from(message.scan.world_pose))
            self._clock.answered(topic)

        return read

    def _listen_to_robot(self, robot: InstrumentedRobot) -> None:
        for topic in robot.contact_topics:
            self._clock.motion_sensors.add(topic)
            self._link.listen(topic, "Contacts", self._contact_reader(topic))
        if robot.scan_topic is not None:
            self._clock.sensors.add(robot.scan_topic)
            self._link.listen(robot.scan_topic, "LaserScanStamped", self._on_scan)
        if robot.imu_topic is not None:
            self._clock.motion_sensors.add(robot.imu_topic)
            self._link.listen(robot.imu_topic, "IMU", self._on_imu)
        velocity = self._velocity
        if (
            self._drive_command is not None
            and self._drive_command.available
            and velocity is not None
        ):
            self._link.wait_for(lambda: velocity.connected, "connecting to the robot's drive")

    def _contact_reader(self, topic: str) -> RawCallback:
        def read(payload: bytes) -> None:
            clock = self._clock
            earliest_ns = clock.begun_ns + clock.step_ns
            for contact in MESSAGES["Contacts"].FromString(payload).contact:
                # One may be of the rest, or of the first step, which Gazebo may have forgotten.
                stamp_ns = clock.our_ns(nanoseconds(contact.time))
                if earliest_ns < stamp_ns <= clock.time_ns:
                    self._contacts.append(contact_from(contact, stamp_ns))
            clock.answered(topic)

        return read

    def _on_scan(self, payload: bytes) -> None:
        if self._robot is None or self._robot.robot.lidar is None:
            return  # it has been deleted since
        message = MESSAGES["LaserScanStamped"].FromString(payload)
        self._clock.answered(str(self._robot.scan_topic))
        lidar, time_ns = self._robot.robot.lidar, self._clock.time_ns
        if (
            lidar.update_rate_hz > 0
            and time_ns < self._scans_taken * 1e9 / lidar.update_rate_hz - 1
        ):
            return  # the lidar would not have measured yet
        self._scans_taken = int(time_ns * lidar.update_rate_hz / 1e9 + 1e-6) + 1
        self._scan = scan_from(message, time_ns, lidar)

    def _on_imu(self, payload: bytes) -> None:
        if self._robot is None or self._imu_reader is None:
            return
        self._imu_reader.receive(MESSAGES["IMU"].FromString(payload))
        self._clock.answered(str(self._robot.imu_topic))


def alone(model: NamedModel) -> NamedModel:
    """The model with its own name in its SDF, as SDF text that stands alone."""
    try:
        element = parse_model(model.sdf)
        root = parse_xml(model.sdf.strip().encode())
    except (SdfError, etree.XMLSyntaxError) as error:
        raise SimulatorError(f"cannot spawn {model.name!r}: {error}") from error
    text = model_text(element, root.get("version", "1.6"), model.name)
    return NamedModel(model.name, text, model.pose)
