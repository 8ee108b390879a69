"""Requests with extreme values to the services of the nodes, for the fuzzer and a rostest.

Numbers are zero, tiny, huge, infinite or NaN, texts are empty, long or not names, and models and
specifications contain such numbers. Files are written only to a temporary directory.
"""

import atexit
import functools
import math
import os
import random
import re
import tempfile
import time
from pathlib import Path

import rosgraph
import rospy
from gazebo_msgs.srv import (
    GetPhysicsProperties,
    GetWorldProperties,
    SetPhysicsProperties,
    SetPhysicsPropertiesRequest,
)
from genpy import Duration, Time
from roslib.message import get_message_class, get_service_class
from std_srvs.srv import Empty

from gz_testauto.base.resources import share_directory
from gz_testauto.processes import free_port
from gz_testauto.ros.launched_process import LaunchedProcess
from gz_testauto.ros.obstacles.interface import MULTIPLIER, SPAWNER
from gz_testauto.ros.simulator.interface import NODE
from gz_testauto.ros.simulator.loop import REMEDY

SHARE = share_directory()
START_TIMEOUT_S, STEP_TIMEOUT_S = 120.0, 60.0
RARE = {"delete_model": 0.3, "delete_models": 0.3, "load_scene": 0.5, "multiply": 0.3}
"""Shares of requests to services, relative to those of the other services."""

NEEDED = {"/gazebo/reset_world", "/obstacle_spawner/list", "/world_multiplier/multiply"}
"""Services that the nodes register last."""

NUMBERS = (0.0, 1e-320, 1e-9, 10.0, 1e3, 1e5, 1e6, 1e9, 1e15, 1e30, 1e300, math.inf, math.nan)
NAMES = {
    "link": ("robot::base", "robot::left_wheel", "crate::l", "ball::l", "table::l", "table::k"),
    "body": ("robot::base", "crate::l", "ball::l", "table::k"),
    "joint": ("j", "left_wheel_joint"),
    "light": ("sun",),
    "name": ("crate", "ball", "table", "crate", "ball", "table", "robot", "ground_plane"),
}
"""Names of parts of the world, by a word in the name of the field."""
TEXTS = (
    *("", " ", "a\0b", "a\nb", "\x1b[2J", "\x01", "x" * 300, "x" * 100_000, "[" * 10_000),
    *("..", "../../etc/passwd", "/dev/zero", "/nonexistent/x", "~nouser/x", "a::b", "::"),
    *("ünïcödé", "测试", "%s%n", "<b>&amp;", "http://127.0.0.1:9/x", "model://no_such_model"),
    "a: " + "x" * 1_100_000,
)
MODEL = """<sdf version="1.6"><model name="m"><pose>0 0 0.3 0 0 0</pose><link name="l">
<inertial><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>
<collision name="c"><pose>0 0 0 0 0 0.3</pose><geometry><box><size>0.3 0.3 0.3</size></box>
</geometry><surface><friction><ode><mu>0.6</mu></ode></friction></surface></collision></link>
<link name="k"><pose>0 0 0.5 0 0 0</pose><collision name="c"><geometry><sphere><radius>0.1</radius>
</sphere></geometry></collision></link><joint name="j" type="revolute"><parent>l</parent>
<child>k</child><axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis>
</joint></model></sdf>"""
URDF = """<robot name="r"><link name="l"><inertial><mass value="5"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<collision><origin xyz="0 0 0.25"/><geometry><box size="0.5 0.5 0.5"/></geometry></collision>
</link></robot>"""
MODELS = (
    *(MODEL, MODEL, MODEL, MODEL.replace("<link", "<static>1</static><link", 1), URDF, "<html/>"),
    MODEL.replace("<child>k", "<child>nobody"),
    re.sub("<box>.*</box>", "<mesh><uri>file:///dev/zero</uri></mesh>", MODEL, flags=re.DOTALL),
    MODEL.replace("</link>", '<collision name="d"/>' * 10_000 + "</link>", 1),
    MODEL.replace('name="l"', f'name="{"l" * 2_000_000}"'),
    "<sdf>" + "<model>" * 5000,
)
SPEC = """{obstacles: [{type: box, count: 2, size_x_m: 0.3, size_y_m: 0.3}],
region: {rectangle: {x_m: [-3, 3], y_m: [-3, 3]}}, solvable: false}"""
LAUNCH = """<launch>
<include file="$(find gz_testauto)/launch/simulator.launch">
<arg name="simulator" value="{simulator}"/><arg name="world" value="{world}"/>
<arg name="real_time_factor" value="0"/></include>
<include file="$(find gz_testauto)/launch/spawner.launch"><arg name="base_world" value="{world}"/>
</include></launch>"""
DECIMAL = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")


class RequestGenerator:
    """A generator of requests to the services of the running nodes. ``directory`` is a temporary
    directory for files. ``draw`` is a ``random.Random``."""

    def __init__(self, draw, directory):
        self._draw, self._directory = draw, directory
        self._extreme = draw.choice((0.0, 0.05, 0.3))
        self._services = offered_services()

    def request(self):
        """Return the name and the type of a service, and a request."""
        names = list(self._services)
        shares = [RARE.get(name.rpartition("/")[2], 1.0) for name in names]
        (name,) = self._draw.choices(names, shares)
        kind = get_service_class(self._services[name])
        request = self._message(kind._request_class)
        if kind is SetPhysicsProperties:
            request = self._physics()
        return name, kind, request

    def _physics(self):
        request = present_physics()
        for field in ("time_step", "max_update_rate"):
            if self._draw.random() < 0.4:
                setattr(request, field, self._number())
        if self._draw.random() < 0.4:
            request.gravity.z = self._number()
        return request

    def _message(self, kind):
        message = kind()
        for field, type_ in zip(kind.__slots__, kind._slot_types):
            setattr(message, field, self._value(field, type_))
        return message

    def _value(self, field, type_):
        draw = self._draw
        element, is_array, _ = type_.partition("[")
        if is_array:
            return [self._value(field, element) for _ in range(draw.choice((0, 1, 1, 2)))]
        if element == "string":
            return self._text(field)
        if element in ("float32", "float64"):
            number = self._number()
            is_too_large = element == "float32" and 3e38 < abs(number) < math.inf
            return math.copysign(3e38, number) if is_too_large else number
        if element == "bool":
            return draw.random() < 0.5
        if field == "count":
            return draw.choice((0, 1, 2))
        if re.fullmatch("u?int\\d+", element):
            bits, least = int(element.lstrip("uint")), 0 if element[0] == "u" else -1
            most = 2 ** (bits if least == 0 else bits - 1) - 1
            return draw.choice((0, 1, 7, most, least))
        if element == "time":
            return Time(draw.choice((0, 1, 2**32 - 1)))
        if element == "duration":
            return Duration(draw.choice((-1, 0, 1, 2**31 - 1)), draw.choice((0, 10**8)))
        return self._message(get_message_class(element))

    def _number(self):
        draw = self._draw
        if draw.random() < self._extreme:
            return draw.choice(NUMBERS) * draw.choice((1.0, -1.0))
        return draw.choice((0.0, 0.0, 1.0, draw.uniform(-3.0, 3.0)))

    def _text(self, field):
        draw, is_extreme = self._draw, self._draw.random() < self._extreme
        if field in ("path", "out"):
            invalid = draw.choice(("", "~nouser/x", "a\0b", "/proc/x"))
            return (
                invalid if is_extreme else f"{self._directory}/{field}_{draw.randrange(10)}.world"
            )
        if is_extreme:
            return draw.choice(TEXTS)
        if field in ("model_xml", "sdf", "spec"):
            text = SPEC if field == "spec" else draw.choice(MODELS)
            return DECIMAL.sub(lambda match: self._decimal(match.group()), text)
        if field == "world":
            return str(SHARE / "worlds" / "room.world")
        if field == "robot_model":
            return str(SHARE / "models" / "wheelchair" / "model.sdf")
        if field.startswith("robot_") or field.endswith(("frame", "frame_id", "namespace")):
            return ""
        return draw.choice(next(names for word, names in NAMES.items() if word in field))

    def _decimal(self, text):
        if self._draw.random() < 0.2 * self._extreme:
            return repr(self._draw.choice(NUMBERS) * self._draw.choice((1.0, -1.0)))
        return text


@functools.lru_cache(maxsize=None)
def offered_services():
    """Return the type of each service of the running nodes of this package, by name."""
    registered = registered_services()
    return {
        name: service.type
        for node in (NODE, SPAWNER, MULTIPLIER)
        for service in node.services
        for name in [service.name.replace("~", f"/{node.name}/")]
        if name in registered
    }


@functools.lru_cache(maxsize=None)
def proxy(name, kind):
    """Return a client of a service, which keeps its connection."""
    return rospy.ServiceProxy(name, kind, persistent=True)


def registered_services():
    """Return the names of all services, or an empty set while there is no ROS master."""
    try:
        return {name for name, _ in rosgraph.Master("/fuzz").getSystemState()[2]}
    except (OSError, rosgraph.MasterException):
        return set()


def respond_to(name, kind, request):
    """Return the message of a response that rejects the request, or an empty text. Raises
    ``AssertionError`` if the handler failed with another error than those of this package."""
    try:
        response = proxy(name, kind)(request)
    except rospy.ServiceException as error:
        assert "error processing request" not in str(error), error
        return str(error)
    if getattr(response, "success", True):
        return ""
    message = getattr(response, "status_message", getattr(response, "message", ""))
    assert message, f"{name} rejects a request without a reason"
    return message


def require_steps():
    """Return whether the simulation had failed, in which case its scene is loaded again. Raises
    ``AssertionError`` if the simulation does not step, or if its message states no remedy."""
    properties = proxy("/gazebo/get_world_properties", GetWorldProperties)
    has_failed, before = False, None
    deadline = time.monotonic() + STEP_TIMEOUT_S
    while True:
        state = properties()
        if not state.success:
            assert REMEDY in state.status_message, state.status_message
            proxy("/gazebo/reset_world", Empty)()
            has_failed, before = True, None
        elif before is None:
            let_time_run()
            before = state.sim_time
        elif state.sim_time != before:
            return has_failed
        assert time.monotonic() < deadline, f"no step within {STEP_TIMEOUT_S:g} s"


def let_time_run():
    """Revert requests that have paused or slowed the simulated time."""
    proxy("/gazebo/unpause_physics", Empty)()
    request = present_physics()
    request.max_update_rate = 0.0
    proxy("/gazebo/set_physics_properties", SetPhysicsProperties)(request)


def present_physics():
    """Return a request that does not change the physics properties."""
    now = proxy("/gazebo/get_physics_properties", GetPhysicsProperties)()
    return SetPhysicsPropertiesRequest(
        now.time_step, now.max_update_rate, now.gravity, now.ode_config
    )


REQUESTS = 100
"""Number of requests of a case of the fuzzer. The process of a case takes longer than a request."""


def check_responses(seed, directory):
    """Send the requests of a case of the fuzzer, and return the largest exit status."""
    return max(check_response(f"{seed} {number}", directory) for number in range(REQUESTS))


def check_response(seed, directory):
    """Send the request that ``seed`` determines, print the reason if it is rejected, and require
    that the simulation steps. Return the exit status as a command would: 0, or 2 if rejected."""
    name, kind, request = RequestGenerator(random.Random(seed), directory).request()
    print(f"{name}: {str(request)[:2000]}")
    message = respond_to(name, kind, request)
    print(message)
    if require_steps():
        print("the simulation had failed, and was loaded again")
    return 2 if message else 0


def check_many_responses(test, requests):
    """Check the responses to some requests in a ``unittest.TestCase``. The physics properties are
    then those of before."""
    physics = present_physics()
    for seed in range(requests):
        with test.subTest(seed=seed), tempfile.TemporaryDirectory() as directory:
            check_response(seed, Path(directory))
    set_physics = proxy("/gazebo/set_physics_properties", SetPhysicsProperties)
    test.assertTrue(set_physics(physics).success)


@functools.lru_cache(maxsize=None)
def launched(simulator, directory):
    """Start a ROS master, a simulator node and a spawner, and return the URI of the master. They
    stop with this process."""
    uri = f"http://127.0.0.1:{free_port()}"
    environment = {
        **os.environ,
        "ROS_MASTER_URI": uri,
        "ROS_IP": "127.0.0.1",
        "ROS_LOG_DIR": str(directory / "ros"),
    }
    launch = directory / f"{simulator}.launch"
    launch.write_text(LAUNCH.format(simulator=simulator, world=SHARE / "worlds" / "room.world"))
    process = LaunchedProcess(
        "the simulator", ["roslaunch", str(launch)], directory / f"{simulator}.log", environment
    )
    atexit.register(process.close)
    os.environ["ROS_MASTER_URI"] = uri
    deadline = time.monotonic() + START_TIMEOUT_S
    while not registered_services() >= NEEDED:
        if process.failure() or time.monotonic() > deadline:
            raise SystemExit(process.failure() or process.log_excerpt())
        time.sleep(0.2)
    return uri
