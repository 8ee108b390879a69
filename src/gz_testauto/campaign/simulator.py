"""Choose the simulator and the trial executor of a campaign."""

import functools
from pathlib import Path
from typing import Any, Dict

from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import load_object
from gz_testauto.simulators import check_options, chosen_simulator, open_simulator, options_taken
from gz_testauto.simulators.interface import Simulator
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec, StackCampaignSpec
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.trial.testbed import BuiltinTestBed
from gz_testauto.workers.interface import ExecutorFactory


def with_simulator(spec: CampaignSpec, name: str = "") -> BuiltinCampaignSpec:
    """Return the campaign with the simulator ``name``, by default ``spec.simulator``.

    Raises ``SpecError`` if the campaign has a ``stack``.
    """
    remedy = f"omit the simulator {name!r}" if name else "use a campaign without stack"
    campaign = spec.without_stack(remedy)
    simulator = chosen_simulator(name or campaign.simulator)
    if simulator == campaign.simulator:
        return campaign
    options = campaign.simulator_options
    # Options are meant for one simulator. Without options, Gazebo is not searched for `auto`.
    if options and simulator != chosen_simulator(campaign.simulator):
        options = {}
    return campaign.model_copy(update={"simulator": simulator, "simulator_options": options})


def select_simulator(spec: CampaignSpec, name: str = "") -> CampaignSpec:
    """Return the campaign with the simulator ``name`` after a check of the simulator's options.

    A campaign with a ``stack`` is returned unchanged if ``name`` is empty. Raises the errors of
    :func:`with_simulator` and :func:`simulator_options`.
    """
    if not name and not isinstance(spec, BuiltinCampaignSpec):
        return spec
    selected_spec = with_simulator(spec, name)
    simulator_options(selected_spec)
    return selected_spec


def simulator_options(spec: BuiltinCampaignSpec, **more: Any) -> Dict[str, Any]:
    """Return the parameters of the simulator's constructor; ``more`` replace options of the spec.

    Raises ``UnknownNameError`` for an unknown simulator, and ``SpecError`` for an unsupported
    option.
    """
    options = {**spec.simulator_options, **more}
    with spec.locating("simulator", "simulator_options"):
        check_options(spec.simulator, options)
    accepted_options, worlds = options_taken(spec.simulator), spec.worlds
    world_options = {
        "obstacle_names": ("obstacle_names", worlds.obstacle_names),
        "world_plugins": ("plugins", worlds.plugins),
        "allow_missing": ("allow_missing", tuple(worlds.allow_missing)),
    }
    for option, (key, value) in world_options.items():
        if option in accepted_options:
            if option in spec.simulator_options:
                raise SpecError(
                    f"campaign {spec.name}: simulator_options.{option} is not supported; set "
                    f"worlds.{key} instead"
                )
            options[option] = value
    if "stall_timeout_s" in accepted_options:
        options.setdefault("stall_timeout_s", spec.limits.stall_timeout_s)
    return options


def start_simulator(bed: BuiltinTestBed, **more: Any) -> Simulator:
    """Open the simulator of a campaign; ``more`` are options that replace those of the campaign.

    Raises ``SpecError`` if the simulator cannot turn the robot at ``robot.max_angular_radps``.
    """
    spec = bed.spec
    options = simulator_options(spec, **more)
    with spec.locating("simulator", "simulator_options"):
        simulator = open_simulator(spec.simulator, **options)
    limit_radps = simulator.turn_limit_radps(bed.robot)
    if spec.robot.max_angular_radps >= limit_radps:
        simulator.close()
        raise SpecError(
            f"robot.max_angular_radps is {spec.robot.max_angular_radps:g}; it must be less than "
            f"{limit_radps:.3f} rad/s, the limit of the drive plugin of {bed.robot.name} in "
            f"the simulator {simulator.name!r}"
        )
    return simulator


def chosen_executor(spec: CampaignSpec, out: Path, gui: bool = False) -> ExecutorFactory:
    """Return a picklable factory of executors for a campaign with results in ``out``."""
    if isinstance(spec, StackCampaignSpec):
        # imported only here, since it needs ROS
        stack_executor = load_object("gz_testauto.ros.stack.executor:StackExecutor")
        return functools.partial(stack_executor, out=Path(out).absolute())
    start = functools.partial(start_simulator, gui=True) if gui else start_simulator
    return functools.partial(LockstepExecutor, open_simulator=start)
