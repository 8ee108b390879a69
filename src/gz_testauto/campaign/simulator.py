"""Open the simulator that a campaign names, with its options.

Selects the installed simulator, and defines its constructor's arguments: the campaign's options,
``limits.stall_timeout_s`` and the settings of ``worlds`` that the adaptor has.
"""

from typing import Any, Dict

from gz_testauto.base.errors import SpecError
from gz_testauto.simulators import check_options, chosen_simulator, open_simulator, options_taken
from gz_testauto.simulators.interface import Simulator
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.trial.setup import PreparedBuiltin


def with_simulator(spec: CampaignSpec, name: str = "") -> BuiltinCampaignSpec:
    """Return the campaign with the simulator ``name``, by default its present one, under the name
    of the installed simulator, which results record. A different simulator does not get the
    campaign's options. Raises ``SpecError`` for a campaign with ``stack``, which has a simulator.
    """
    if not isinstance(spec, BuiltinCampaignSpec):
        out = f"; omit the simulator {name!r}" if name else ""
        raise SpecError(f"campaign {spec.name} has its simulator in stack.simulator{out}")
    chosen = chosen_simulator(name or spec.simulator)
    if chosen == spec.simulator:
        return spec
    options = spec.simulator_options if chosen == chosen_simulator(spec.simulator) else {}
    return spec.model_copy(update={"simulator": chosen, "simulator_options": options})


def simulator_options(spec: BuiltinCampaignSpec, **more: Any) -> Dict[str, Any]:
    """Return the options for the constructor of the campaign's simulator; ``more`` override them.

    Raises ``UnknownNameError`` for a simulator that is not registered, ``SpecError`` for an option
    that it does not have.
    """
    options = {**spec.simulator_options, **more}
    with spec.locating("simulator", "simulator_options"):
        check_options(spec.simulator, options)
    takes = options_taken(spec.simulator)
    if "obstacle_names" in takes:
        if "obstacle_names" in spec.simulator_options:
            raise SpecError("simulator_options.obstacle_names: give it as worlds.obstacle_names")
        options["obstacle_names"] = spec.worlds.obstacle_names
    if "world_plugins" in takes:
        if "world_plugins" in spec.simulator_options:
            raise SpecError("simulator_options.world_plugins: give it as worlds.plugins")
        options["world_plugins"] = spec.worlds.plugins
    if "allow_missing" in takes:
        if "allow_missing" in spec.simulator_options:
            raise SpecError("simulator_options.allow_missing: give it as worlds.allow_missing")
        options["allow_missing"] = tuple(spec.worlds.allow_missing)
    if "stall_timeout_s" in takes:
        options.setdefault("stall_timeout_s", spec.limits.stall_timeout_s)
    return options


def start_simulator(campaign: PreparedBuiltin, **more: Any) -> Simulator:
    """Open the simulator that a campaign names, with its options and ``more``. Raises ``SpecError``
    if it cannot turn the robot at the campaign's largest angular velocity."""
    spec = campaign.spec
    options = simulator_options(spec, **more)
    with spec.locating("simulator", "simulator_options"):
        simulator = open_simulator(spec.simulator, **options)
    limit_radps = simulator.turn_limit_radps(campaign.robot)
    if spec.robot.max_angular_radps >= limit_radps:
        simulator.close()
        raise SpecError(
            f"robot.max_angular_radps is {spec.robot.max_angular_radps:g}; it must be less than "
            f"{limit_radps:.3f} rad/s, the limit of the drive plugin of {campaign.robot.name} in "
            f"{simulator.name!r}"
        )
    return simulator
