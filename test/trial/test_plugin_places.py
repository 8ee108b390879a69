"""An error of a plug-in has the file, the line and the field of its YAML."""

import pytest

from gz_testauto.actors.actor import Actor
from gz_testauto.base.errors import PluginError, SpecError, UnknownNameError
from gz_testauto.base.parameters import Positive
from gz_testauto.base.resources import share_directory
from gz_testauto.campaign.simulator import simulator_options
from gz_testauto.planners import PLANNERS
from gz_testauto.randomization import TERMS
from gz_testauto.randomization.terms import Term
from gz_testauto.spec.actors import BEHAVIORS
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import parse
from gz_testauto.trial.actors import check_actors
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.trial.testbed import bed_of, read_body

SMOKE = share_directory() / "config" / "smoke_campaign.yaml"
PARTS = {
    "planners": "[straight]",
    "simulator": "kinematic",
    "simulator_options": "{}",
    "actors": "[]",
    "randomize": "[]",
}


class Spin(Actor):
    def __init__(self, name, tags, rate_radps: Positive = 1.0):
        super().__init__(name, tags)


class Rain(Term):
    def __init__(self, rate_mmps: Positive):
        self.rate_mmps = rate_mmps


class Broken:
    def __init__(self):
        raise KeyError("lost")


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    for registry, name, plugin in (
        (BEHAVIORS, "spin", Spin),
        (TERMS, "rain", Rain),
        (PLANNERS, "broken", Broken),
    ):
        monkeypatch.setattr(registry, "_loaders", dict(registry._loaders))
        registry.register(name, plugin)


def campaign(**parts):
    """Return a campaign whose last keys are ``parts``, and the number of the first one's line."""
    lines = [line for line in SMOKE.read_text().splitlines() if line.partition(":")[0] not in PARTS]
    text = "\n".join([*lines, *(f"{k}: {v}" for k, v in {**parts, **rest(parts)}.items())])
    return parse(text, CampaignSpec, SMOKE, called="c.yaml"), len(lines) + 1


def rest(parts):
    return {key: value for key, value in PARTS.items() if key not in parts}


def drive(spec):
    LockstepExecutor(bed_of(spec, read_body(spec)), open_simulator=None)


def actors(spec):
    check_actors(spec)


def options(spec):
    simulator_options(spec)


ACTOR = "[{{name: a, behavior: {}, start: {{x_m: 0, y_m: 0}}, parameters: {{{}}}}}]"
TERM = "[{{name: r, term: {}, set: 1, parameters: {{{}}}}}]"


@pytest.mark.parametrize(
    ("check", "parts", "field", "text"),
    [
        (drive, {"planners": "[straight, fmg]"}, "planners[1]", "did you mean 'fgm'"),
        (
            drive,
            {"planners": "[{name: fgm, parameters: {alhpa: 1}}]"},
            "planners[0].parameters.alhpa",
            "did you mean 'alpha_m'",
        ),
        (drive, {"planners": "[broken]"}, "planners[0]", "KeyError: 'lost'"),
        (options, {"simulator_options": "{step: 1}"}, "simulator_options.step", "unknown"),
        (actors, {"actors": ACTOR.format("spni", "")}, "actors[0].behavior", "'spin'"),
        (
            actors,
            {"actors": ACTOR.format("spin", "rate_radps: 0")},
            "actors[0].parameters.rate_radps",
            "greater than 0",
        ),
        (actors, {"randomize": TERM.format("rian", "")}, "randomize[0].term", "'rain'"),
        (
            actors,
            {"randomize": TERM.format("rain", "rate_mmps: -1")},
            "randomize[0].parameters.rate_mmps",
            "greater than 0",
        ),
        (
            actors,
            {"randomize": TERM.format("rain", "")},
            "randomize[0].parameters.rate_mmps",
            "missing",
        ),
    ],
)
def test_error_of_a_plugin_contains_file_line_and_field(check, parts, field, text):
    spec, line = campaign(**parts)
    with pytest.raises((SpecError, PluginError)) as raised:
        check(spec)
    assert str(raised.value).startswith(f"c.yaml:{line}: {field}")
    assert text in str(raised.value)


def test_error_of_a_campaign_without_a_file_has_no_location():
    spec, _ = campaign()
    planner = type(spec.planners[0])(name="fmg", plugin="fmg")
    with pytest.raises(UnknownNameError) as raised, planner.locating("plugin", "parameters"):
        PLANNERS.get("fmg")
    assert str(raised.value).startswith("unknown planner")


def test_specifications_from_different_files_are_equal():
    text = SMOKE.read_text()
    first, second = (parse(text, CampaignSpec, SMOKE, called=name) for name in ("a.yaml", "b.yaml"))
    assert first == second
