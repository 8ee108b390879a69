"""Read and select the sensors of a robot that planners do not use by default.

:mod:`gz_testauto.sdf.robot_sensors` reads the planners' lidar and the IMU.
"""

import logging
import math
from collections import Counter
from dataclasses import replace
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.base.sensors import AHEAD, Angles, Sensor, SensorKind
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.drives import PlacedLink, RobotParts, library_name
from gz_testauto.sdf.values import name_of, number, pose_value, required, text_of

LOGGER = logging.getLogger(__name__)

RAYS = ("ray", "gpu_ray")
DEPTH_CAMERAS = ("depth", "depth_camera", "rgbd_camera")

RANGE_PLUGIN = "gazebo_ros_range"
_CLOUD_PLUGINS = (
    "gazebo_ros_velodyne_laser",
    "gazebo_ros_velodyne_gpu_laser",
    "gazebo_ros_block_laser",
)
_CAMERA_PLUGINS = ("gazebo_ros_openni_kinect", "gazebo_ros_depth_camera")

# Largest numbers of columns and rows of the rays of a depth camera. A camera with more pixels is
# simulated with every n-th pixel.
MOST_COLUMNS, MOST_ROWS = 80, 60

MOST_RAYS = 200_000


class PluginNames(NamedTuple):
    library: str = ""
    topic: str = ""
    frame: str = ""
    rate_hz: float = 0.0
    noise_m: float = 0.0
    element: Optional[Element] = None


def find_sensors(parts: RobotParts) -> Tuple[Sensor, ...]:
    """Return all sensors of a robot with rays, depth images or contacts, in file order.

    If several sensors have the same topic, the topic of each but the first one is ``LINK/SENSOR``.
    A sensor with a missing or an inconsistent value is omitted, and the error is logged.
    """
    sensors: List[Sensor] = []
    for placed_link in parts.links.values():
        for element in placed_link.link.element.findall("sensor"):
            read_sensor = _READERS.get(_sensor_type(element, placed_link.model.document))
            if read_sensor is None:
                continue
            try:
                sensors.append(read_sensor(placed_link, element))
            except SdfError as error:  # most robots are used without this sensor
                LOGGER.info("%s; this sensor cannot be selected", error)
    counts = Counter(sensor.sensor for sensor in sensors)
    topics = [sensor.topic.lstrip("/") for sensor in sensors]
    return tuple(
        replace(
            sensor,
            name=sensor.scoped_name if counts[sensor.sensor] > 1 else sensor.name,
            topic=sensor.scoped_topic if topics[number] in topics[:number] else sensor.topic,
        )
        for number, sensor in enumerate(sensors)
    )


def select_sensors(
    source: str, sensors: Sequence[Sensor], names: Sequence[str], owner: str
) -> Tuple[Sensor, ...]:
    """Return the sensors with the specified names, in the order of the names.

    Raises ``SdfError`` for an unknown name, or for a bumper without a collision shape. Its message
    contains ``source``, the file, and ``owner``, the key or planner that specifies the names.
    """
    selected_sensors = []
    for name in dict.fromkeys(names):
        matches = [
            candidate for candidate in sensors if name in (candidate.name, candidate.scoped_name)
        ]
        if not matches:
            known_sensors = "".join(f"\n  {candidate}" for candidate in sensors) or " none"
            raise SdfError(
                f"{source}: {owner} names the sensor {name!r}, which the robot does not have; "
                f"correct the name. Its sensors:{known_sensors}"
            )
        sensor = matches[0]
        if sensor.kind == "contact" and not sensor.collisions:
            raise SdfError(
                f"{source}: the contact sensor {name!r} names no collision shape of its link "
                f"{sensor.link!r}, so it cannot detect a contact; correct <contact><collision>"
            )
        selected_sensors.append(sensor)
    return tuple(selected_sensors)


def is_range_sensor(sensor: Element) -> bool:
    """Return whether a ``ray`` sensor is a sonar or an infrared sensor."""
    return any(_library_of(plugin) == RANGE_PLUGIN for plugin in sensor.findall("plugin"))


def _sensor_type(sensor: Element, document: SdfDocument) -> str:
    kind = sensor.get("type") or ""
    if kind == "camera" and _read_plugin(document, sensor).library in _CAMERA_PLUGINS:
        return "depth"
    return "depth" if kind in DEPTH_CAMERAS else "ray" if kind in RAYS else kind


def _library_of(plugin: Element) -> str:
    return library_name(plugin.get("filename") or "")


def _read_plugin(document: SdfDocument, sensor: Element) -> PluginNames:
    for plugin in sensor.findall("plugin"):
        library = _library_of(plugin)
        key = _TOPIC_KEYS.get(library)
        if key is None:
            continue
        topic = text_of(plugin, key) or ""
        camera = text_of(plugin, "cameraName") if library in _CAMERA_PLUGINS else None
        namespace = text_of(plugin, "robotNamespace") or ""
        if topic and not topic.startswith("/"):
            topic = "/".join(
                filter(None, (namespace.rstrip("/"), (camera or "").strip("/"), topic))
            )
            topic = f"/{topic}" if namespace == "/" else topic
        return PluginNames(
            library=library,
            topic=topic,
            frame=(text_of(plugin, "frameName") or "").lstrip("/"),
            rate_hz=number(document, plugin, "updateRate", 0.0),
            noise_m=number(document, plugin, "gaussianNoise", 0.0),
            element=plugin,
        )
    return PluginNames()


# the element with the topic's name, for each plug-in of gazebo_ros that publishes a sensor
_TOPIC_KEYS: Dict[str, str] = {
    "gazebo_ros_laser": "topicName",
    "gazebo_ros_gpu_laser": "topicName",
    "gazebo_ros_block_laser": "topicName",
    "gazebo_ros_velodyne_laser": "topicName",
    "gazebo_ros_velodyne_gpu_laser": "topicName",
    RANGE_PLUGIN: "topicName",
    "gazebo_ros_openni_kinect": "pointCloudTopicName",
    "gazebo_ros_depth_camera": "pointCloudTopicName",
    "gazebo_ros_bumper": "bumperTopicName",
}


def _read_ray_sensor(placed_link: PlacedLink, sensor: Element) -> Sensor:
    document = placed_link.model.document
    plugin = _read_plugin(document, sensor)
    ray = required(document, sensor, "ray")
    scan, limits = required(document, ray, "scan"), required(document, ray, "range")
    vertical = scan.find("vertical")
    columns = _read_angles(document, required(document, scan, "horizontal"))
    rows = AHEAD if vertical is None else _read_angles(document, vertical)
    kind: SensorKind = "scan" if rows.samples == 1 else "cloud"
    if plugin.library == RANGE_PLUGIN:
        kind = "range"
    elif plugin.library in _CLOUD_PLUGINS:
        kind = "cloud"
    low, high = number(document, limits, "min"), number(document, limits, "max")
    plugin_element = plugin.element
    if plugin_element is not None and plugin.library.startswith("gazebo_ros_velodyne"):
        low = max(low, number(document, plugin_element, "min_range", low))
        high = min(high, number(document, plugin_element, "max_range", high))
    field_of_view_rad = max(columns.last - columns.first, rows.last - rows.first)
    if plugin_element is not None:
        field_of_view_rad = number(document, plugin_element, "fov", field_of_view_rad)
    common = _common_sensor(placed_link, sensor, plugin, kind)
    is_infrared = plugin_element is not None and text_of(plugin_element, "radiation") == "infrared"
    return _require_valid_rays(
        document,
        sensor,
        replace(
            common,
            columns=columns,
            rows=rows,
            range_min_m=low,
            range_max_m=high,
            noise_m=_noise(document, ray, plugin),
            radiation="infrared" if is_infrared else "ultrasound",
            field_of_view_rad=field_of_view_rad,
        ),
    )


def _read_depth_camera(placed_link: PlacedLink, sensor: Element) -> Sensor:
    document = placed_link.model.document
    plugin = _read_plugin(document, sensor)
    camera = required(document, sensor, "camera")
    image, clip = required(document, camera, "image"), required(document, camera, "clip")
    width, height = (round(number(document, image, tag)) for tag in ("width", "height"))
    field_of_view_rad = number(document, camera, "horizontal_fov")
    if width < 1 or height < 1 or not 0.0 < field_of_view_rad < math.pi:
        raise SdfError(
            f"{document.where(camera)}: a depth camera must have a <width> and a <height> of at "
            "least 1, and a <horizontal_fov> between 0 and pi"
        )
    focal = width / (2 * math.tan(field_of_view_rad / 2))
    step = max(1, math.ceil(width / MOST_COLUMNS), math.ceil(height / MOST_ROWS))
    low, high = number(document, clip, "near"), number(document, clip, "far")
    if plugin.element is not None:
        low = max(low, number(document, plugin.element, "pointCloudCutoff", low))
        high = min(high, number(document, plugin.element, "pointCloudCutoffMax", high))
    return _require_valid_rays(
        document,
        sensor,
        replace(
            _common_sensor(placed_link, sensor, plugin, "cloud"),
            columns=_pixels(width, step, focal),
            rows=_pixels(height, step, focal),
            range_min_m=low,
            range_max_m=high,
            noise_m=(0.0, plugin.noise_m),
            is_camera=True,
        ),
    )


def _pixels(count: int, step: int, focal_px: float) -> Angles:
    """Return the angles of rays through every ``step``-th of ``count`` pixels in a row or column.

    The rays have equal angles between them, unlike the pixels. ``focal_px`` is the focal length.
    """
    half_rad = math.atan((count - 1) / 2 / focal_px)
    samples = max(1, count // step)
    return Angles(samples, -half_rad, half_rad) if samples > 1 else AHEAD


def _read_bumper(placed_link: PlacedLink, sensor: Element) -> Sensor:
    document = placed_link.model.document
    names = [
        (element.text or "").strip().rsplit("::", 1)[-1]
        for element in sensor.findall("contact/collision")
    ]
    shapes = {shape.get("name") for shape in placed_link.link.element.findall("collision")}
    return replace(
        _common_sensor(placed_link, sensor, _read_plugin(document, sensor), "contact"),
        collisions=tuple(f"{placed_link.name}::{name}" for name in names if name in shapes),
    )


_READERS: Mapping[str, Callable[[PlacedLink, Element], Sensor]] = {
    "ray": _read_ray_sensor,
    "depth": _read_depth_camera,
    "contact": _read_bumper,
}


def _common_sensor(
    placed_link: PlacedLink, sensor: Element, plugin: PluginNames, kind: SensorKind
) -> Sensor:
    document = placed_link.model.document
    name = name_of(document, sensor)
    rates = [number(document, sensor, "update_rate", 0.0), plugin.rate_hz]
    return Sensor(
        kind=kind,
        name=name,
        link=placed_link.name,
        sensor=name,
        mount=sensor_mount(placed_link, sensor),
        update_rate_hz=min((rate for rate in rates if rate > 0.0), default=0.0),
        topic=plugin.topic or name,
        frame=plugin.frame or name,
    )


def sensor_mount(placed_link: PlacedLink, sensor: Element) -> Pose:
    """Return the pose of a sensor in the frame of the robot."""
    return placed_link.pose * pose_value(placed_link.model.document, sensor.find("pose"))


def _read_angles(document: SdfDocument, element: Element) -> Angles:
    resolution = number(document, element, "resolution", 1.0)
    count = round(number(document, element, "samples") * resolution)
    first = number(document, element, "min_angle", 0.0)
    last = number(document, element, "max_angle", 0.0)
    if count < 1 or first > last:
        raise SdfError(
            f"{document.where(element)}: <{element.tag}> must have at least 1 sample, and "
            "<min_angle> must not be above <max_angle>"
        )
    return Angles(count, first, last)


def _noise(document: SdfDocument, ray: Element, plugin: PluginNames) -> Tuple[float, float]:
    """Return the mean and the standard deviation (m) of the sum of the independent noises of a
    sensor and its plug-in."""
    noise = ray.find("noise")
    mean, stddev = (0.0, 0.0) if noise is None else gaussian_noise(document, noise)[1]
    return mean, math.hypot(stddev, plugin.noise_m)


def gaussian_noise(document: SdfDocument, noise: Element) -> Tuple[str, Tuple[float, float]]:
    """Return the type, the mean and the standard deviation of a ``<noise>``. Both are 0 if it is
    not Gaussian."""
    kind = (noise.get("type") or noise.findtext("type") or "gaussian").strip()
    if not kind.startswith("gaussian"):
        return kind, (0.0, 0.0)
    return kind, (number(document, noise, "mean", 0.0), number(document, noise, "stddev", 0.0))


def _require_valid_rays(document: SdfDocument, element: Element, sensor: Sensor) -> Sensor:
    location = document.where(element)
    if not 0.0 <= sensor.range_min_m < sensor.range_max_m:
        raise SdfError(
            f"{location}: sensor {sensor.name!r} has a range from {sensor.range_min_m:g} to "
            f"{sensor.range_max_m:g} m; the first value must be smaller and not negative"
        )
    if sensor.columns.samples * sensor.rows.samples > MOST_RAYS:
        raise SdfError(
            f"{location}: sensor {sensor.name!r} has {sensor.columns.samples} × "
            f"{sensor.rows.samples} rays, and at most {MOST_RAYS} are supported; reduce <samples>"
        )
    return sensor
