"""Lock-step control of simulated time on a gzserver: equal commands give bit-identical results.

Gazebo measures in threads while physics continues, so a sensor that is due during a step can
measure the world before or after the step. Here time advances in two parts:

1. *physics*: the commanded steps, in which no sensor is due;
2. *rest*: physics is disabled, and time advances by one tiny step, in which every sensor is due.
   The world does not change until all sensors have measured; the probes measure the poses.

Gazebo's clock is ahead of the simulated time by the steps of all rests.
"""

import contextlib
import math
import os
import time
from pathlib import Path
from typing import Dict, Iterable, List, Optional, Set

from gz_testauto.simulators.gazebo.instruments import PREFIX, RATE_DIGITS, sensor_rate
from gz_testauto.simulators.gazebo.messages import MESSAGES
from gz_testauto.simulators.gazebo.readings import leading_stamp
from gz_testauto.simulators.gazebo.world import CLOCK_TOPIC, WorldLink
from gz_testauto.simulators.interface import NamedModel

# Difference between a sensor's period and the longest interval of physics. It is large enough
# to remain in calculations with floating-point numbers, and small enough to have no visible effect.
MARGIN_NS = 1000

# In a longer interval of physics, Gazebo's contact sensor drops the oldest contacts.
MAX_STEPS = 100

# During steps: higher than the physics engine can reach, so gzserver never waits.
STEPPING_RATE_HZ = 50000.0

# At rest: limited, since the server publishes a message each time that it polls for commands.
RESTING_RATE_HZ = 5000.0

# Limits of the wait until the threads of a server at rest sleep: the CPU time of one thread,
# which only a plugin's thread that never sleeps exceeds, and the wall time.
SETTLING_CPU_S, SETTLING_S = 1.0, 20.0

_AWAKE_STATES = b"RD"
# The start of a thread's stat file, which includes its two CPU times.
_STAT_BYTES = 256
_LOOK_AGAIN_S = 0.00005
_CLOCK_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")

_MODEL = """<sdf version="1.6"><model name="{name}"><static>true</static><link name="link">
<sensor name="sensor" type="{kind}"><always_on>1</always_on><update_rate>{rate}</update_rate>
{own}</sensor></link></model></sdf>"""

_RAY = """<ray><scan><horizontal><samples>1</samples><min_angle>0</min_angle>
<max_angle>0</max_angle></horizontal></scan><range><min>0.001</min><max>0.01</max></range></ray>"""

# It renders no images, and is the only sensor without rays that measures while physics is
# disabled and whose last message is sent to later subscribers.
_LOGICAL_CAMERA = """<logical_camera><near>0.001</near><far>0.01</far><aspect_ratio>1</aspect_ratio>
<horizontal_fov>0.1</horizontal_fov></logical_camera>"""


class LockStep:
    """The clock of one world, which is at rest unless a method of this class runs.

    A message arrives on the topics in ``sensors`` at every rest, and on those in
    ``motion_sensors`` only after physics. Subscribers add their topics and call :meth:`answered`.
    """

    def __init__(self, link: WorldLink, max_interval_ns: int, step_ns: int) -> None:
        self._link = link
        self.max_interval_ns = min(max(max_interval_ns // step_ns, 1), MAX_STEPS) * step_ns
        # The period of all sensors: longer than an interval, and with a rate of six digits
        rate_hz = 1e9 / (self.max_interval_ns + MARGIN_NS)
        scale = 10.0 ** (RATE_DIGITS - 1 - math.floor(math.log10(rate_hz)))
        self.sensor_period_ns = round(1e9 / (math.floor(rate_hz * scale) / scale))
        self.step_ns = step_ns
        self.time_ns = 0
        self.interval_start_ns = 0
        self.sensors: Set[str] = set()
        self.motion_sensors: Set[str] = set()
        self._ahead_ns = 0
        self._ahead_in_physics_ns = 0
        self._measured_ns = 0
        self._clock_ns = -1
        self._answers: Dict[str, int] = {}
        self._threads: Optional[ThreadStates] = None
        # The only message of every step: with more topics, gzserver's threads would wait for each
        # other, and the last messages of a step could be delayed until the next step.
        link.listen(CLOCK_TOPIC, "PosesStamped", self._on_clock, latest_only=True)

    @property
    def gazebo_ns(self) -> int:
        return self.time_ns + self._ahead_ns

    def pass_period(self) -> None:
        """Advance Gazebo's clock by more than the period of the sensors. Physics is disabled, and
        remains disabled until :meth:`advance`."""
        self._link.wait_for(lambda: self._clock_ns >= 0, "starting the world")
        before_ns = self._clock_ns
        self._switch_physics(is_enabled=False, step_ns=2 * self.sensor_period_ns)
        self._link.control(multi_step=1)
        self._link.wait_for(lambda: self._clock_ns > before_ns, "resting")

    def rewind(self) -> None:
        """Set Gazebo's clock to zero. Must be called before any sensor is spawned."""
        # A sensor that is spawned after more than one period on the clock measures immediately,
        # with a lasting effect: Gazebo normalizes the direction of a ray each time, so the last
        # bits of a scan depend on the number of earlier scans.
        # The alarms of the sensor threads expire in one long step, so that none wakes them at a
        # wrong time later. A reset replaces a step, so its effect must be visible, which requires a
        # clock that was not at zero before.
        self.pass_period()
        self._link.control(reset=MESSAGES["WorldReset"](all=False, time_only=True))
        self._link.wait_for(lambda: self._clock_ns == 0, "setting the clock to zero")

    def begin(self, seed: int) -> None:
        """Seed the random generators and take the first rest, after all models are spawned."""
        self._link.control(seed=seed)
        self._link.acknowledge()
        self._threads = ThreadStates(self._link.server.pid)
        self._rest(self.sensors)

    def advance(self, duration_ns: int) -> None:
        """Advance physics, then take a rest.

        The duration must be a whole number of physics steps and at most ``max_interval_ns``.
        """
        self._await_sensor_threads()
        self._switch_physics(is_enabled=True, step_ns=self.step_ns)
        self._ahead_in_physics_ns = self._ahead_ns
        self.interval_start_ns = self.time_ns
        self.time_ns += duration_ns
        self._link.control(multi_step=duration_ns // self.step_ns)
        self._wait_for_clock("stepping")
        self._rest(self.sensors | self.motion_sensors)

    def refresh(self) -> None:
        """Take another rest, in which sensors measure moved models."""
        self._await_sensor_threads()
        self._rest(self.sensors)

    def close(self) -> None:
        """Close the files of ``/proc``. Call it when the scene ends."""
        if self._threads is not None:
            self._threads.close()
            self._threads = None

    def answered(self, topic: str) -> None:
        """Record that a sensor has published its measurement of this rest."""
        self._answers[topic] = self._measured_ns

    def simulated_ns(self, gazebo_ns: int) -> int:
        """Convert a stamp of Gazebo to simulated time, for an event in the last interval.

        The result for an event in a rest is at most ``interval_start_ns``, or after ``time_ns``.
        """
        return gazebo_ns - self._ahead_in_physics_ns

    # private methods

    def _on_clock(self, payload: bytes) -> None:
        self._clock_ns = leading_stamp(payload)

    def _switch_physics(self, is_enabled: bool, step_ns: int) -> None:
        # set_physics waits for the response, because gzserver can process a later command first.
        self._link.set_physics(
            enable_physics=is_enabled,
            max_step_size=step_ns / 1e9,
            real_time_update_rate=STEPPING_RATE_HZ if is_enabled else RESTING_RATE_HZ,
        )

    def _rest(self, expected_topics: Set[str]) -> None:
        """Advance Gazebo's clock until every sensor is due, and wait for ``expected_topics``."""
        rest_ns = self._measured_ns + self.sensor_period_ns - self.gazebo_ns
        self._switch_physics(is_enabled=False, step_ns=rest_ns)
        self._ahead_ns += rest_ns
        self._measured_ns = self.gazebo_ns
        self._link.control(multi_step=1)
        self._wait_for_clock("resting")
        self._link.wait_for(
            lambda: all(self._answers.get(topic) == self._measured_ns for topic in expected_topics),
            "measuring",
        )

    def _await_sensor_threads(self) -> None:
        if self._threads is None:
            return
        # A sensor thread that sets its alarm while the clock advances wakes too late in the next
        # rest.
        if not self._threads.wait_until_asleep(SETTLING_CPU_S, SETTLING_S):
            self.close()

    def _wait_for_clock(self, activity: str) -> None:
        self._link.wait_for(lambda: self._clock_ns >= self.gazebo_ns, activity)
        if self._clock_ns != self.gazebo_ns:
            self._link.fail(
                f"its clock is at {self._clock_ns / 1e9:.9f} s instead of "
                f"{self.gazebo_ns / 1e9:.9f} s, so another client steps it"
            )


def initialize_sensor_periods(link: WorldLink, clock: LockStep) -> List[str]:
    """Trigger separate measurements of a ray sensor and of another sensor, on a new server.

    Returns the names of the spawned models.
    """
    # This avoids a bug of gzserver. One thread updates ray sensors, another all other sensors. Each
    # computes its period after sensors were added, but both share the flag that signals this. If
    # both kinds are added together, the thread that runs first clears the flag, and the other one
    # has no period: it sets its alarm for every step, and its sensors can miss the next rest. A
    # thread keeps its period for the lifetime of the server.
    ray, camera = f"{PREFIX}ray", f"{PREFIX}logical_camera"
    rate = sensor_rate(clock.sensor_period_ns)

    scans: List[bytes] = []
    sdf = _MODEL.format(name=ray, kind="ray", rate=rate, own=_RAY)
    link.listen(f"{ray}/link/sensor/scan", "LaserScanStamped", scans.append)
    link.spawn([NamedModel(ray, sdf)])
    link.wait_for_topics()
    clock.pass_period()
    link.wait_for(lambda: bool(scans), "measuring with the first ray")

    # No time passes until this sensor has measured, since it would wake the first thread.
    images: List[bytes] = []
    sdf = _MODEL.format(name=camera, kind="logical_camera", rate=rate, own=_LOGICAL_CAMERA)
    link.spawn([NamedModel(camera, sdf)])  # measures immediately, as its period has passed
    topic = f"{camera}/link/sensor/models"
    link.listen(topic, "LogicalCameraImage", images.append, latching=True)
    link.wait_for(lambda: bool(images), "measuring with the first sensor without rays")
    return [ray, camera]


class ThreadStates:
    """The states of the threads that a process has at creation of the object.

    One file per thread is open until :meth:`close`. Without such files, no thread is monitored.
    """

    def __init__(self, pid: int) -> None:
        self._files: List[int] = []
        with contextlib.suppress(OSError):
            for thread in sorted(Path(f"/proc/{pid}/task").iterdir()):
                with contextlib.suppress(OSError):  # the thread has ended since it was listed
                    self._files.append(os.open(thread / "stat", os.O_RDONLY | os.O_CLOEXEC))

    def wait_until_asleep(self, cpu_s: float, timeout_s: float) -> bool:
        """Wait until each thread has been asleep once.

        Return False if a thread uses ``cpu_s`` of CPU time before that, or after ``timeout_s``.
        """
        awake = _awake(self._files)
        start_cpu_s = awake
        deadline_s = time.monotonic() + timeout_s
        while awake and time.monotonic() < deadline_s:
            if any(used_s - start_cpu_s[file] >= cpu_s for file, used_s in awake.items()):
                return False
            time.sleep(_LOOK_AGAIN_S)
            awake = _awake(awake)
        return not awake

    def close(self) -> None:
        for file in self._files:
            os.close(file)
        self._files.clear()


def _awake(files: Iterable[int]) -> Dict[int, float]:
    """Return the CPU time (s) of each awake thread, by its ``stat`` file (see ``proc(5)``)."""
    awake = {}
    for file in files:
        with contextlib.suppress(OSError):
            _, _, after_name = os.pread(file, _STAT_BYTES, 0).rpartition(b") ")
            if after_name and after_name[:1] in _AWAKE_STATES:
                fields = after_name.split(maxsplit=13)
                awake[file] = (int(fields[11]) + int(fields[12])) * _CLOCK_TICK_S
    return awake
