"""Has each of Gazebo's threads that measure know its period before time passes.

Owns the way around one fault of gzserver's. One thread measures with rays, another with all
other sensors. A thread works out its period anew when sensors have come, as a flag says that
is one for both: where both kinds come at once, the thread that looks first takes the flag down,
and the other has no period. It sets its alarm for the very next step then, all through physics,
and when it is not back in time, or when the flag goes up later and it learns its period in the
middle of a stretch, its sensors are silent at the next rest.

So one sensor of either kind comes alone here. Time passes until the first has measured, while
there is none that the other thread would look after; and none until the second has, which would
wake the first thread. What a thread knows it keeps for as long as the server lives.
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
"""No camera: it tells the names of models that are near. Of the sensors that are no rays it is
the one that measures without physics, and whose last message is sent to who comes later."""


def teach_period(link: WorldLink, clock: LockStep) -> List[str]:
    """Let a sensor of each kind measure by itself, on a server that has no sensors yet.

    Returns the names of the models that have been spawned for it and may be deleted. Raises
    ``SimulatorError`` when one does not measure.
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
    link.spawn([NamedModel(other, sdf)])  # past its period, it measures at once
    topic = f"{other}/link/sensor/models"
    link.listen(topic, "LogicalCameraImage", images.append, latching=True)
    link.wait_for(lambda: bool(images), "measuring with the first sensor that is no ray")
    return [ray, other]
