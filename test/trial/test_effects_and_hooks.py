"""Effects and hooks of a campaign: invalid entries are rejected by file, line and field, and hooks
of other packages run in each trial."""

import math
from types import SimpleNamespace

import pytest
from finished import results

from gz_testauto.actors.hook import Hook, HookResults
from gz_testauto.actors.simulation import ActorSimulation, Filter
from gz_testauto.base.errors import SceneError, SpecError
from gz_testauto.base.parameters import Positive
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.cli.main import main
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.manifest import Manifest
from gz_testauto.simulators.changes import SetGravity
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.effects import HOOKS
from gz_testauto.spec.loader import parse
from gz_testauto.trial.actors import (
    FreePlaces,
    TrialActors,
    check_actors,
    require_unmoved_robot,
)
from gz_testauto.trial.plan import PreparedCampaign
from gz_testauto.trial.testbed import bed_of, read_body
from gz_testauto.worlds.record import WorldRecord

SMOKE = share_directory() / "config" / "smoke_campaign.yaml"
ROOM = share_directory() / "worlds" / "room.world"


class Draws(Hook):
    """A hook that counts periods and draws a number per trial."""

    numbers = ("periods", "drawn_by_hook")

    def __init__(self, name, factor: Positive = 1.0):
        super().__init__(name)
        self.factor, self.periods = factor, 0

    def start(self, random):
        self.value = float(random.uniform())

    def before_step(self, context):
        self.periods += 1

    def results(self):
        return HookResults({"periods": self.factor * self.periods, "drawn_by_hook": self.value})


class Other:
    def __init__(self, name):
        """Accept the name of a hook."""


class Lifts(Draws):
    kinds = frozenset({SetGravity})


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(HOOKS, "_loaders", dict(HOOKS._loaders))
    for name, plugin in (("draws", Draws), ("lifts", Lifts), ("no_hook", Other)):
        HOOKS.register(name, plugin)


def campaign(simulator="embedded", **parts):
    """Return a campaign in an empty room whose last keys are ``parts``, and the number of the line
    of the first one."""
    lines = campaign_lines(simulator)
    text = "\n".join([*lines, *(f"{key}: {value}" for key, value in parts.items())])
    return parse(text, CampaignSpec, SMOKE, called="c.yaml"), len(lines) + 1


def campaign_lines(simulator):
    lines = SMOKE.read_text().splitlines()
    lines = [*lines[: lines.index("worlds:")], *lines[lines.index("  count: 2") + 1 :]]
    world = f"{{directory: {ROOM.parent}, files: [{{file: {ROOM.name}, name: room}}]}}"
    lines += [f"worlds: {world}", f"simulator: {simulator}"]
    return [line.replace("[straight, fgm]", "[straight]") for line in lines]


def check(spec):
    """Check a campaign as before its first trial."""
    check_actors(spec)
    room = WorldRecord(0, "room", ROOM, "")
    prepared = PreparedCampaign(bed_of(spec, read_body(spec)), (room,))
    prepared.bed.actors(prepared.trials[0])


ACTORS = "[{name: door, behavior: door, pose: {x_m: 0, y_m: 3}, tags: [doors]}]"


@pytest.mark.parametrize(
    ("effect", "field", "texts"),
    [
        ("{effect: blink, target: dor}", "target", ["'dor'", "'door'"]),
        ("{effect: light, target: son}", "target", ["'son'", "'sun'"]),
        ("{effect: push, target: door, force_n: [1, 0, 0]}", "target", ["'door'", "actor"]),
        ("{effect: push, target: doors, force_n: [1, 0, 0]}", "target", ["'door'", "actor"]),
        ("{effect: push, target: walls, force_n: [1, 0, 0]}", "target", ["static"]),
        ("{effect: push, target: robot, link: bas, force_n: [1, 0, 0]}", "target", ["bas"]),
        (
            "{effect: blink, target: door, when: {trigger: rob, trigger_distance_m: 2}}",
            "when.trigger",
            ["'rob'", "'robot'"],
        ),
    ],
)
def test_effect_on_an_unknown_or_unsuitable_target_is_rejected(effect, field, texts):
    spec, line = campaign(actors=ACTORS, effects=f"[{{name: e, {effect[1:]}]")
    with pytest.raises(SpecError) as raised:
        check(spec)
    assert str(raised.value).startswith(f"c.yaml:{line + 1}: effects[0].{field}: effect 'e'")
    assert all(text in str(raised.value) for text in texts)


def stack_campaign(effect):
    """Return a campaign on a stack that spawns its robot, with one effect, and the effect's line
    number."""
    file = share_directory() / "config" / "urdf_robot" / "campaign.yaml"
    text = file.read_text().rstrip() + f"\neffects: [{{name: e, {effect[1:]}]\n"
    return parse(text, CampaignSpec, file, called="c.yaml"), len(text.splitlines())


def test_effect_pushes_a_link_of_a_robot_that_the_stack_spawns():
    spec, _ = stack_campaign("{effect: push, target: robot, link: base_link, force_n: [1, 0, 0]}")
    check(spec)


def test_effect_without_link_of_a_robot_of_a_stack_is_rejected():
    spec, line = stack_campaign("{effect: push, target: robot, force_n: [1, 0, 0]}")
    with pytest.raises(SpecError, match=r"effect 'e'.*'link'") as raised:
        check(spec)
    assert str(raised.value).startswith(f"c.yaml:{line}: effects[0].target")


@pytest.mark.parametrize(
    ("effect", "field", "text"),
    [
        ("{effect: blnk, target: robot}", "effects[0].effect", "'blink'"),
        ("{effect: fade, target: robot}", "effects[0]", "'duration_s'"),
        ("{effect: color, target: robot, color: [2, 0, 0]}", "effects[0].color[0]", "<= 1"),
        ("{effect: light, target: sun, when: {trigger_distance_m: 1}}", "effects[0]", "region"),
        (
            "{effect: gravity, mps2: 1, when: {after_s: 3, until_s: 2}}",
            "effects[0].when",
            "after_s",
        ),
        ("{effect: blink, target: robot, colour: [1, 0, 0]}", "effects[0]", "'color'"),
    ],
)
def test_invalid_key_of_an_effect_is_reported_with_its_line(effect, field, text):
    with pytest.raises(SpecError) as raised:
        campaign(effects=f"[{{name: e, {effect[1:]}]")
    message = str(raised.value)
    assert message.startswith("c.yaml:")
    assert f": {field}" in message
    assert text in message


@pytest.mark.parametrize(
    ("hook", "field", "text"),
    [
        ("{hook: draw}", "hook", "'draws'"),
        ("{hook: draws, parameters: {factor: 0}}", "parameters.factor", "greater than 0"),
        ("{hook: no_hook}", "hook", "subclass"),
    ],
)
def test_invalid_hook_is_rejected_with_its_line(hook, field, text):
    spec, line = campaign(hooks=f"[{{name: h, {hook[1:]}]")
    with pytest.raises(SpecError) as raised:
        check(spec)
    assert str(raised.value).startswith(f"c.yaml:{line}: hooks[0].{field}: ")
    assert text in str(raised.value)


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({"effects": "[{name: e, effect: gravity, mps2: 1}]"}, "effect 'e'"),
        ({"hooks": "[{name: h, hook: lifts}]"}, "hook 'h'"),
    ],
)
def test_change_that_the_simulator_does_not_support_is_rejected(parts, named):
    spec, _ = campaign("kinematic", **parts)
    with pytest.raises(SpecError, match="'kinematic' cannot change the gravity") as raised:
        check_actors(spec)
    assert named in str(raised.value)


def moving_term(names, when):
    """Return a term of the randomization that moves models."""
    term = f"{{name: jump, term: pose, select: {{names: '{names}'}}, add: [-1, 1], when: {when}}}"
    return f"[{term}]"


@pytest.mark.parametrize("names", ["robot", ".*"])
def test_a_term_can_move_the_robot_only_during_a_trial(names):
    check(campaign(randomize=moving_term(names, "{every_s: 5}"))[0])
    spec, _ = campaign(randomize=moving_term(names, "trial"))
    with pytest.raises(
        SpecError, match=r"randomize 'jump': select\.names matches 'robot'.*every_s"
    ):
        check_actors(spec)


def test_a_robot_is_moved_only_to_places_at_which_it_can_stop():
    """The walls are at 5 m. The robot is 0.6 m long in front of its base, and stops in 0.6 m."""
    spec, _ = campaign(randomize=moving_term("robot", "{every_s: 5}"))
    room = WorldRecord(0, "room", ROOM, "")
    prepared = PreparedCampaign(bed_of(spec, read_body(spec)), (room,))
    places = FreePlaces(prepared.bed._actor_context(prepared.trials[0]), ())
    for x_m, yaw_rad, is_free in (
        (3.5, 0.0, True), (4.0, 0.0, False), (4.0, math.pi, True), (4.5, math.pi, False),
        (7.0, math.pi, False),
    ):  # fmt: skip
        assert places.contains(Pose2D(x_m, 0.0, yaw_rad), {}) is is_free, (x_m, yaw_rad)


def test_a_term_cannot_move_a_further_robot_or_a_robot_over_ros():
    other = "[{name: porter, start: {x_m: 0, y_m: 3}, goal: {x_m: 3, y_m: 3}}]"
    spec, _ = campaign(robots=other, randomize=moving_term("porter", "{every_s: 5}"))
    with pytest.raises(SpecError, match=r"'jump': select\.names matches 'porter', and only the"):
        check_actors(spec)
    require_unmoved_robot(campaign(randomize=moving_term("box.*", "{every_s: 5}"))[0])
    with pytest.raises(SpecError, match=r"'jump': select\.names matches 'robot', and over ROS"):
        require_unmoved_robot(campaign(randomize=moving_term("rob.*", "{every_s: 5}"))[0])


def test_hook_of_another_package_runs_in_each_trial_of_a_campaign(tmp_path):
    lines = [*campaign_lines("kinematic"), "repetitions: 2"]
    lines.append("hooks: [{name: h, hook: draws, parameters: {factor: 2.0}}]")
    file, out = tmp_path / "c.yaml", tmp_path / "out"
    file.write_text("\n".join(lines))
    assert main(["run", str(file), "--out", str(out), "--workers", "1"]) == 0
    trials, recordings = results(out)
    periods = [len(recording.time_s) - 1 for recording in recordings]
    assert [record.metrics["periods"] for record in trials] == [2 * count for count in periods]
    assert len({record.metrics["drawn_by_hook"] for record in trials}) == 2
    inputs = Manifest.read(CampaignDirectory(out)).inputs
    assert any("code of hook draws" in name for name in inputs)


@pytest.mark.parametrize("parts", [{"hooks": (Draws("draws"),)}, {"filters": (Filter(),)}])
def test_simulation_is_changed_only_by_hooks_and_filters(parts):
    simulation = SimpleNamespace(step_size_s=0.01, robot=None, changes=frozenset())
    assert TrialActors().simulation(simulation) is simulation
    assert isinstance(TrialActors(**parts).simulation(simulation, "robot"), ActorSimulation)


def test_exception_in_the_results_of_a_hook_names_the_hook():
    class Fails(Draws):
        def results(self):
            raise ValueError("no passages")

    actors = TrialActors((Fails("h"),))
    with pytest.raises(SceneError, match=r"hook 'h' .*ValueError: no passages"):
        actors.complete(None)
