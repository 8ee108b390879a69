"""Initializes the periods of Gazebo's sensor threads before time passes.

This avoids a fault of gzserver. One thread updates ray sensors, another all other sensors. A thread
computes its period when sensors were added, as signaled by a flag that both threads share. If both
kinds are added together, the thread that runs first clears the flag, and the other one has no
period. It then sets its alarm for the very next step, all through physics. If it does not return in
time, or if the flag is set later and it computes its period in the middle of an interval, its
sensors do not measure at the next rest.

So one sensor of each kind is added separately here. Time passes until the first has measured, while
there is no sensor for the other thread. No time passes until the second has measured, which would
wake the first thread. A thread keeps its period for the lifetime of the server.
"""

from typing import List

from gz_testauto.simulators.gazebo.instruments import PREFIX
from gz_testauto.simulators.gazebo.lockstep import LockStep
from gz_testauto.simulators.gazebo.world import WorldLink
from gz_testauto.simulators.interface import NamedModel

_MODEL = """<sdf version="1.6"><model name="{name}"><static>true</static><link name="link">
<sensor name="sensor" type="{kind}"><always_on>1</always_on><update_rate>{rate_hz!r}</update_rate>
{own}</sensor></link></model></sdf>"""

_RAY = """<ray><scan><horizontal><samples>1</samples><min_angle>0</min_angle>
<max_angle>0</max_angle></horizontal></scan><range><min>0.001</min><max>0.01</max></range></ray>"""

_LOGICAL_CAMERA = """<logical_camera><near>0.001</near><far>0.01</far><aspect_ratio>1</aspect_ratio>
<horizontal_fov>0.1</horizontal_fov></logical_camera>"""
"""Not a camera: it reports the names of near models. Of the sensors without rays it is the one that
measures without physics, and whose last message is sent to later subscribers."""


def initialize_sensor_periods(link: WorldLink, clock: LockStep) -> List[str]:
    """Measure with one sensor of each kind separately, on a server that has no sensors yet.

    Returns the names of the models that were spawned for it and can be deleted. Raises
    ``SimulatorError`` if one does not measure.
    """
    ray, other = f"{PREFIX}ray", f"{PREFIX}logical_camera"
    rate_hz = 1e9 / clock.sensor_period_ns

    scans: List[bytes] = []
    sdf = _MODEL.format(name=ray, kind="ray", rate_hz=rate_hz, own=_RAY)
    link.listen(f"{ray}/link/sensor/scan", "LaserScanStamped", scans.append)
    link.spawn([NamedModel(ray, sdf)])
    link.wait_for_topics()
    clock.pass_period()
    link.wait_for(lambda: bool(scans), "measuring with the first ray")

    images: List[bytes] = []
    sdf = _MODEL.format(name=other, kind="logical_camera", rate_hz=rate_hz, own=_LOGICAL_CAMERA)
    link.spawn([NamedModel(other, sdf)])  # its period has passed, so it measures immediately
    topic = f"{other}/link/sensor/models"
    link.listen(topic, "LogicalCameraImage", images.append, latching=True)
    link.wait_for(lambda: bool(images), "measuring with the first sensor without rays")
    return [ray, other]
