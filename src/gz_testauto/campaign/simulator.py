"""The simulator that a campaign names, with its options.

Owns which one that is on this machine, the passing of a campaign's options to an adaptor's
constructor, and of ``limits.stall_timeout_s`` and what ``worlds`` says where the adaptor takes it.
"""

from typing import Any, Dict

from gz_testauto.base.errors import SpecError
from gz_testauto.simulators import check_options, chosen_simulator, open_simulator, options_taken
from gz_testauto.simulators.interface import Simulator
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.trial.setup import PreparedBuiltin


def with_simulator(spec: CampaignSpec, name: str = "") -> BuiltinCampaignSpec:
    """The campaign on the simulator ``name``, or on its own when that is empty, by the name that
    it has on this machine: results say what they were made with. Another simulator than the
    campaign's does not get the options that were meant for that one. Raises ``SpecError`` for a
    campaign with ``stack``, which has its own."""
    if not isinstance(spec, BuiltinCampaignSpec):
        out = f"; leave the simulator {name!r} out" if name else ""
        raise SpecError(f"campaign {spec.name} brings its own simulator (stack.simulator){out}")
    chosen = chosen_simulator(name or spec.simulator)
    if chosen == spec.simulator:
        return spec
    options = spec.simulator_options if chosen == chosen_simulator(spec.simulator) else {}
    return spec.model_copy(update={"simulator": chosen, "simulator_options": options})


def simulator_options(spec: BuiltinCampaignSpec, **more: Any) -> Dict[str, Any]:
    """Options for the constructor of the campaign's simulator; ``more`` go before its own.

    Raises ``UnknownNameError`` for a simulator that nobody registered, ``SpecError`` for an
    option that it does not take.
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
    when it cannot turn the robot as fast as the campaign lets planners ask for."""
    spec = campaign.spec
    options = simulator_options(spec, **more)
    with spec.locating("simulator", "simulator_options"):
        simulator = open_simulator(spec.simulator, **options)
    limit_radps = simulator.turn_limit_radps(campaign.robot)
    if spec.robot.max_angular_radps >= limit_radps:
        simulator.close()
        raise SpecError(
            f"robot.max_angular_radps is {spec.robot.max_angular_radps:g}; the drive plugin of "
            f"{campaign.robot.name} takes less than {limit_radps:.3f} rad/s in {simulator.name!r}; "
            "lower it"
        )
    return simulator
