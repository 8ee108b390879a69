"""Sensors that the adaptor adds to models, and that it removes from saved worlds.

Every link of a movable model gets a *probe*: a ray sensor with one ray of a centimeter, whose
messages contain the exact pose of the link. The robot gets a contact sensor on the collisions
that should not touch the ground. All sensors get the period that lock-step requires.
"""

from dataclasses import dataclass
from typing import Dict, Iterable, Mapping, Optional, Sequence, Tuple

from lxml import etree

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.sensors import Sensor
from gz_testauto.base.xml_file import parse_xml
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.dynamics import read_surface
from gz_testauto.sdf.edit import contact_sensor, find_link
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.plugin_sensors import RAYS
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.robot_sensors import LidarDescription
from gz_testauto.sdf.scene import SceneModel, collisions_by_link, scene_model
from gz_testauto.sdf.tree import read_model
from gz_testauto.sdf.values import ensure_child, pose_value, set_pose
from gz_testauto.simulators.gazebo.adapted_robot import adapt_robot
from gz_testauto.simulators.gazebo.engines import adapt_model
from gz_testauto.simulators.interface import NamedModel

PREFIX = "gz_testauto_"

# Suffix of the names of models on the server in every second scene: the name of a deleted model
# cannot be reused for more than half a second (see WorldLink.request_deletion), which would be most
# of the time between trials.
SUFFIX = "__gz_testauto"

# These types of sensors are updated by Gazebo's rendering thread, at their own rate.
RENDERED = ("camera", "depth", "gpu_ray", "multicamera", "wideanglecamera")

# The probes of models that are loaded with a scene, and of those that are spawned later. Only
# the subscriptions to the latter are canceled.
PROBE, SPAWNED_PROBE = PREFIX + "probe", PREFIX + "spawned_probe"

_PROBE = """<sensor name="{name}" type="ray"><ray><scan><horizontal><samples>1</samples>
<min_angle>0</min_angle><max_angle>0</max_angle></horizontal></scan>
<range><min>0.001</min><max>0.01</max></range></ray></sensor>"""

_RAYS = """<sensor name="{name}" type="ray"><pose/><ray><scan>
<horizontal><samples>{columns.samples}</samples><min_angle>{columns.first!r}</min_angle>
<max_angle>{columns.last!r}</max_angle></horizontal>
<vertical><samples>{rows.samples}</samples><min_angle>{rows.first!r}</min_angle>
<max_angle>{rows.last!r}</max_angle></vertical></scan>
<range><min>{sensor.range_min_m!r}</min><max>{sensor.range_max_m!r}</max></range></ray></sensor>"""

# Significant digits of numbers that gzserver keeps when it writes a model as a text. With another
# rate, the period can become longer than a rest, in which the sensor then does not measure.
RATE_DIGITS = 6


def sensor_rate(period_ns: int) -> str:
    """Return the ``<update_rate>`` (Hz) of a sensor with the period of ``LockStep``."""
    return f"{1e9 / period_ns:.{RATE_DIGITS}g}"


@dataclass(frozen=True)
class InstrumentedModel:
    """A model with the added sensors.

    ``model.name`` is the name on the server. ``name`` is the name in the scene and in scoped names
    of links. ``links`` contains the poses of the links in the model frame, by scoped name, starting
    with the canonical link. ``probes`` maps the topic of each probe to its link. Topics
    are relative to the world's namespace. ``rates`` contains the original update rates of the
    sensors, and ``originals`` the original collisions that were adapted.
    """

    name: str
    model: NamedModel
    links: Mapping[str, Pose]
    probes: Mapping[str, str]
    rates: Mapping[str, Optional[str]]
    originals: Mapping[str, Element]


@dataclass(frozen=True)
class InstrumentedRobot:
    """A robot with the added sensors.

    ``contact_topics`` contains one topic for each link with a contact sensor, and ``ray_topics``
    the topic of each selected sensor with rays. ``ray_count`` includes the rays of the lidar.
    """

    robot: RobotModel
    body: InstrumentedModel
    scan_topic: Optional[str]
    imu_topic: Optional[str]
    contact_topics: Tuple[str, ...]
    ray_topics: Mapping[str, str]
    ray_count: int


def instrument_model(
    model: NamedModel,
    sensor_period_ns: int,
    suffix: str = "",
    engine: str = "ode",
    probe: str = PROBE,
) -> InstrumentedModel:
    """Add probes to a model that is not a robot, and ``suffix`` to its name.

    Its sensors, except those of the types in :data:`RENDERED`, get the period ``sensor_period_ns``
    (simulated time). Raises ``SimulatorError`` for a model that cannot be spawned.
    """
    document, scene = _read_named_model(model, suffix)
    surfaces = [read_surface(document, element) for element in document.root.iter("collision")]
    if engine != "ode" and not all(surface.has_forces for surface in surfaces):
        raise SimulatorError(
            f"cannot spawn {model.name!r}: contacts without forces (<collide_without_contact>) "
            f"need the physics engine 'ode', not {engine!r}; use 'ode' or the simulator 'embedded'"
        )
    return _add_instruments(model, document, scene, sensor_period_ns, engine, probe)


def instrument_robot(
    robot: RobotModel,
    start: Pose2D,
    sensor_period_ns: int,
    suffix: str = "",
    engine: str = "ode",
    sensors: Sequence[Sensor] = (),
) -> InstrumentedRobot:
    """Add sensors to a robot, and ``suffix`` to its name, and place it at ``start``.

    Each of the selected ``sensors`` becomes a ``ray`` sensor. Other sensors with rays are removed,
    except the lidar.
    """
    sdf = adapt_robot(robot).sdf
    document, scene = _read_named_model(NamedModel(robot.name, sdf), suffix)
    model, name = document.require_model(), scene.name
    if scene.static or not scene.links:
        raise SimulatorError(f"{robot.path}: a robot must have a link and must not be static")
    if robot.lidar is not None and engine == "dart":
        raise SimulatorError(
            f"{robot.path}: in DART rays detect nothing, so the lidar {robot.lidar.sensor!r} does "
            "not work; use another engine, or a robot without a lidar"
        )
    ray_names = [sensor.name for sensor in sensors if sensor.kind != "contact"]
    if ray_names and engine == "dart":
        raise SimulatorError(
            f"{robot.path}: in DART rays detect nothing, so the sensors {', '.join(ray_names)} do "
            "not work; use another engine, or a planner that does not read these sensors"
        )
    lidar, imu = robot.single_lidar, robot.imu
    _remove_unused_rays(model, lidar)
    contact_topics = []
    for link, shapes in collisions_by_link(scene).items():
        element = find_link(model, link)
        if element is not None:
            element.append(contact_sensor(PREFIX + "contact", shapes))
            contact_topics.append(_join_topic(name, link, PREFIX + "contact"))
    ray_topics = {}
    for number, sensor in enumerate(sensors):
        # a ray sensor, since Gazebo renders depth cameras, which requires a display
        element = None if sensor.kind == "contact" else find_link(model, sensor.link)
        if element is not None:
            sensor_name = f"{PREFIX}rays_{number}"
            text = _RAYS.format(
                name=sensor_name, sensor=sensor, columns=sensor.columns, rows=sensor.rows
            )
            ray_element = parse_xml(text.encode())
            set_pose(ray_element, scene.links[sensor.link].inverse() * sensor.mount)
            element.append(ray_element)
            ray_topics[sensor.name] = _join_topic(name, sensor.link, sensor_name, "scan")
    pose = pose_value(document, model.find("pose")).moved_to(start)
    named_model = NamedModel(robot.name, sdf, pose)
    body = _add_instruments(named_model, document, scene, sensor_period_ns, engine)
    return InstrumentedRobot(
        robot=robot,
        body=body,
        scan_topic=_join_topic(name, lidar.link, lidar.sensor, "scan") if lidar else None,
        imu_topic=_join_topic(name, imu.link, imu.sensor, "imu") if imu else None,
        contact_topics=tuple(contact_topics),
        ray_topics=ray_topics,
        ray_count=sum(sensor.columns.samples * sensor.rows.samples for sensor in sensors)
        + (lidar.samples if lidar else 0),
    )


def remove_instruments(world: Element, models: Iterable[InstrumentedModel]) -> None:
    """Remove the added sensors from a saved world and its ``<state>``; restore names and rates."""
    for parent in (world, *world.iterchildren("state")):
        for model in parent.iterchildren("model"):
            model.set("name", own_name(model.get("name", "")))
    for sensor in list(world.iter("sensor")):
        if sensor.get("name", "").startswith(PREFIX):
            sensor.getparent().remove(sensor)
    rates = {model.name: model.rates for model in models}
    for element in world.iterchildren("model"):
        for sensor in element.iter("sensor"):
            model_rates = rates.get(element.get("name"), {})
            if sensor.get("name") in model_rates:
                _set_rate(sensor, model_rates[sensor.get("name")])


def own_name(scoped_name: str) -> str:
    """Return a name without the suffix that is used on the server."""
    model, separator, in_model = scoped_name.partition("::")
    if model.endswith(SUFFIX):
        model = model[: -len(SUFFIX)]
    return model + separator + in_model


def _read_named_model(model: NamedModel, suffix: str) -> Tuple[SdfDocument, SceneModel]:
    library = ModelLibrary()
    try:
        document = SdfDocument.parse(model.sdf, model.name)
        element = document.require_model()
        element.set("name", model.name + suffix)
        library.expand_all(document, element)
        return document, scene_model(read_model(document, element, library), library)
    except SdfError as error:
        raise SimulatorError(f"cannot spawn {model.name!r}: {error}") from error


def _remove_unused_rays(model: Element, lidar: Optional[LidarDescription]) -> None:
    """Remove sensors with rays except ``lidar`` and those that a plug-in reads."""
    link = None if lidar is None else find_link(model, lidar.link)
    # Gazebo creates an object for each ray of a model, also for rays that are not used.
    for sensor in list(model.iter("sensor")):
        is_lidar = lidar is not None and sensor.get("name") == lidar.sensor
        if is_lidar and sensor.getparent() is link:
            continue
        if sensor.get("type") in RAYS and sensor.find("plugin") is None:
            sensor.getparent().remove(sensor)


def _add_instruments(
    model: NamedModel,
    document: SdfDocument,
    scene: SceneModel,
    sensor_period_ns: int,
    engine: str,
    probe: str = PROBE,
) -> InstrumentedModel:
    root = document.require_model()
    try:
        originals = adapt_model(document, root, scene, model.pose, engine)
    except SdfError as error:
        raise SimulatorError(f"cannot spawn {model.name!r}: {error}") from error
    probes: Dict[str, str] = {}
    if not scene.static:
        for link in scene.links:
            element = find_link(root, link)
            if element is not None:
                element.append(parse_xml(_PROBE.format(name=probe).encode()))
                probes[_join_topic(scene.name, link, probe, "scan")] = f"{model.name}::{link}"
    rates: Dict[str, Optional[str]] = {}
    for sensor in root.iter("sensor"):
        if sensor.get("type") not in RENDERED:
            rates[sensor.get("name", "")] = sensor.findtext("update_rate")
            _set_rate(sensor, sensor_rate(sensor_period_ns))
            for always_on in sensor.findall("always_on"):
                sensor.remove(always_on)  # it must not measure before it has a subscriber
    sdf = etree.tostring(document.root, encoding="unicode")
    return InstrumentedModel(
        name=model.name,
        model=NamedModel(scene.name, sdf, model.pose),
        links={f"{model.name}::{link}": pose for link, pose in scene.links.items()},
        probes=probes,
        rates=rates,
        originals={own_name(scoped_name): element for scoped_name, element in originals.items()},
    )


def _set_rate(sensor: Element, rate_hz: Optional[str]) -> None:
    rate = ensure_child(sensor, "update_rate")
    if rate_hz is None:
        sensor.remove(rate)
    else:
        rate.text = rate_hz


def _join_topic(*parts: str) -> str:
    return "/".join(part.replace("::", "/") for part in parts)
