"""The services ``get_physics_properties`` and ``set_physics_properties`` of gazebo_ros.

``max_update_rate`` limits the real-time factor.
"""

import math
from pathlib import Path
from typing import List, Optional, Protocol, Tuple, runtime_checkable

from gazebo_msgs.msg import ODEPhysics
from gazebo_msgs.srv import (
    GetPhysicsPropertiesResponse,
    SetPhysicsPropertiesRequest,
    SetPhysicsPropertiesResponse,
)
from geometry_msgs.msg import Vector3
from lxml import etree

from gz_testauto.base.xml_file import read_xml
from gz_testauto.ros.graph import RequestRejectedError
from gz_testauto.ros.simulator.loop import SimulationLoop
from gz_testauto.ros.simulator.step_scheduler import RealTimeScheduler
from gz_testauto.simulators.changes import SetGravity
from gz_testauto.simulators.world_file import PhysicsSettings

SAME = 1e-9
MOST_STEPS = 10_000
MOST_FACTOR = 1e6


class PhysicsServices:
    """The handlers of the two services; ``factor`` is the initial real-time factor."""

    def __init__(self, loop: SimulationLoop, period_s: float, factor: float = math.inf) -> None:
        self._loop, self._period_s, self._factor = loop, period_s, factor

    def get_physics_properties(self, request: object) -> GetPhysicsPropertiesResponse:
        loop = self._loop
        response = read_physics(loop.scene.world if loop.scene else None)
        settings = _physics_settings(loop)
        if settings is not None:
            response.time_step = settings.step_size_s
            response.gravity = Vector3(*settings.gravity_mps2)
        elif _supports_gravity(loop):
            response.gravity = Vector3(*loop.simulation.describe().gravity_mps2)
        response.pause = loop.paused
        is_unlimited = math.isinf(self._factor)
        response.max_update_rate = 0.0 if is_unlimited else self._factor / response.time_step
        response.success = True
        response.status_message = "GetPhysicsProperties: got properties"
        return response

    def set_physics_properties(
        self, request: SetPhysicsPropertiesRequest
    ) -> SetPhysicsPropertiesResponse:
        """Change all properties, or reject the request if one change is not supported."""
        loop = self._loop
        changed_names = _changed_fields(request, self.get_physics_properties(request))
        changeable: Tuple[str, ...] = (
            () if _physics_settings(loop) is None else ("time_step", "gravity")
        )
        if _supports_gravity(loop):
            changeable = (*changeable, "gravity")
        rejected_names = [name for name in changed_names if name not in changeable]
        if rejected_names:
            return SetPhysicsPropertiesResponse(
                False,
                f"SetPhysicsProperties: {', '.join(rejected_names)} cannot be changed at run time; "
                "set it in the <physics> of the world file",
            )
        if "time_step" in changed_names:
            self._check_step(request.time_step)
        rate_hz = request.max_update_rate
        if not 0.0 <= rate_hz * request.time_step <= MOST_FACTOR:
            raise RequestRejectedError(
                f"SetPhysicsProperties: max_update_rate is {rate_hz} Hz; it must be 0 for no "
                f"limit, or a real-time factor of at most {MOST_FACTOR:g}"
            )
        gravity = SetGravity(mps2=(request.gravity.x, request.gravity.y, request.gravity.z))
        if changed_names:
            settings = PhysicsSettings(request.time_step, rate_hz, gravity.mps2)
            if isinstance(loop.simulation, _ChangeablePhysics):
                loop.simulation.set_physics(settings)
            else:
                loop.simulation.apply([gravity])
        self._factor = rate_hz * request.time_step or math.inf
        loop.set_scheduler(RealTimeScheduler(self._factor, self._period_s))
        return SetPhysicsPropertiesResponse(True, "physics engine updated")

    def _check_step(self, step_s: float) -> None:
        # The step must divide the control period.
        steps = self._period_s / step_s if step_s > 0.0 else 0.0
        if not (1 <= steps <= MOST_STEPS and math.isclose(steps, round(steps), rel_tol=1e-9)):
            raise RequestRejectedError(
                f"SetPhysicsProperties: time_step is {step_s} s; the control period of "
                f"{self._period_s} s must be from 1 to {MOST_STEPS} times the step"
            )


def _supports_gravity(loop: SimulationLoop) -> bool:
    return loop.scene is not None and SetGravity in loop.simulation.changes


@runtime_checkable
class _ChangeablePhysics(Protocol):
    def physics(self) -> PhysicsSettings: ...

    def set_physics(self, settings: PhysicsSettings) -> None: ...


def _physics_settings(loop: SimulationLoop) -> Optional[PhysicsSettings]:
    simulation = loop.simulation
    return simulation.physics() if isinstance(simulation, _ChangeablePhysics) else None


def _changed_fields(
    request: SetPhysicsPropertiesRequest, current_properties: GetPhysicsPropertiesResponse
) -> List[str]:
    differing = {
        "time_step": _differ(request.time_step, current_properties.time_step),
        "gravity": any(
            _differ(getattr(request.gravity, axis), getattr(current_properties.gravity, axis))
            for axis in "xyz"
        ),
        "ode_config": any(
            _differ(
                getattr(request.ode_config, field), getattr(current_properties.ode_config, field)
            )
            for field in ODEPhysics.__slots__
        ),
    }
    return [name for name, differs in differing.items() if differs]


def read_physics(world: Optional[Path]) -> GetPhysicsPropertiesResponse:
    """Return step size, gravity and ODE settings of a world, with SDF's defaults if missing."""
    root = read_xml(world, recover=True) if world else None
    element = None if root is None else root.find("world")
    if element is None:
        element = etree.Element("world")

    def number(path: str, default: float) -> float:
        return float((element.findtext(path) or "").strip() or default)

    gravity = (
        element.findtext("gravity") or element.findtext("physics/gravity") or "0 0 -9.8"
    ).split()
    ode = "physics/ode/"
    return GetPhysicsPropertiesResponse(
        time_step=number("physics/max_step_size", 0.001),
        gravity=Vector3(*map(float, gravity)),
        ode_config=ODEPhysics(
            sor_pgs_precon_iters=int(number(ode + "solver/precon_iters", 0)),
            sor_pgs_iters=int(number(ode + "solver/iters", 50)),
            sor_pgs_w=number(ode + "solver/sor", 1.3),
            contact_surface_layer=number(ode + "constraints/contact_surface_layer", 0.001),
            contact_max_correcting_vel=number(
                ode + "constraints/contact_max_correcting_vel", 100.0
            ),
            cfm=number(ode + "constraints/cfm", 0.0),
            erp=number(ode + "constraints/erp", 0.2),
            max_contacts=int(number("physics/max_contacts", 20)),
        ),
    )


def _differ(first: float, second: float) -> bool:
    return not abs(first - second) <= SAME
