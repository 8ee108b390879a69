"""The world of the simulator conformance suite: a floor, a wall 5 m ahead, and boxes.

This module contains SDF text and models to spawn, for tests of adaptors that need a scene of known
sizes.
"""

from gz_testauto.base.pose import Pose
from gz_testauto.simulators.interface import NamedModel

BOX = """<model name="{name}"><static>{static}</static><pose>{pose}</pose><link name="link">
<inertial><mass>5</mass><inertia><ixx>0.2</ixx><iyy>0.2</iyy><izz>0.2</izz></inertia></inertial>
<collision name="collision"><geometry><box><size>{size}</size></box></geometry></collision>
<visual name="visual"><geometry><box><size>{size}</size></box></geometry></visual>
</link></model>"""

WORLD = """<?xml version="1.0"?><sdf version="1.6"><world name="conformance">
<physics type="ode"><max_step_size>0.001</max_step_size>
<real_time_factor>1</real_time_factor><real_time_update_rate>1000</real_time_update_rate></physics>
<model name="floor"><static>true</static><link name="link"><collision name="collision">
<geometry><plane><normal>0 0 1</normal><size>60 60</size></plane></geometry>
</collision></link></model>
{models}
</world></sdf>"""

WALL = BOX.format(name="wall", static="true", pose="5 0 0.75 0 0 0", size="0.2 8 1.5")
PARCEL = BOX.format(name="obstacle_box_0", static="true", pose="0 4 0.5 0 0 0.3", size="1 0.6 1")


def to_spawn(name: str, x_m: float, y_m: float, yaw_rad: float = 0.0) -> NamedModel:
    """Return a static box of 0.5 m for the floor; its pose in SDF must be ignored."""
    box = BOX.format(name="other", static="true", pose="9 9 9 0 0 0", size="0.5 0.5 0.5")
    return NamedModel(
        name, f'<sdf version="1.6">{box}</sdf>', Pose.from_rpy(x_m, y_m, 0.25, 0, 0, yaw_rad)
    )


LAMP = """<light name="lamp" type="point"><pose>0 0 4 0 0 0</pose><diffuse>0.9 0.9 0.8 1</diffuse>
<attenuation><range>8</range><constant>0.5</constant></attenuation></light>"""

DOOR = """<model name="door"><pose>-4 3 0 0 0 0</pose><link name="frame"><inertial><mass>500</mass>
<inertia><ixx>50</ixx><iyy>50</iyy><izz>50</izz></inertia></inertial><collision name="collision">
<pose>0 0 0.05 0 0 0</pose><geometry><box><size>1 1 0.1</size></box></geometry></collision></link>
<link name="leaf"><pose>0 0 1.2 0 0 0</pose><inertial><pose>0.4 0 0 0 0 0</pose><mass>5</mass>
<inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial><collision name="collision">
<pose>0.4 0 0 0 0 0</pose><geometry><box><size>0.8 0.05 2</size></box></geometry></collision>
</link><joint name="hinge" type="revolute"><parent>frame</parent><child>leaf</child>
<axis><xyz>0 0 1</xyz></axis></joint></model>"""


def body(name: str, place: str, gravity: bool = True, size: str = "0.2 0.2 0.2") -> str:
    """Return the SDF of a box of 2 kg, of 0.02 kg m² about each axis, that can move."""
    box = f"<geometry><box><size>{size}</size></box></geometry>"
    return (
        f'<model name="{name}"><pose>{place} 0 0 0</pose><link name="link">'
        f"<gravity>{str(gravity).lower()}</gravity><inertial><mass>2</mass><inertia><ixx>0.02</ixx>"
        "<iyy>0.02</iyy><izz>0.02</izz></inertia></inertial>"
        f'<collision name="collision">{box}</collision><visual name="visual">{box}<material>'
        "<ambient>0.2 0.2 0.6 1</ambient><diffuse>0.2 0.2 0.6 1</diffuse></material></visual>"
        "</link></model>"
    )
