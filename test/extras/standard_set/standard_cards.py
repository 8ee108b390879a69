"""Score cards with chosen outcomes, and a small set for the commands."""

import json

from gz_testauto.extras.standard_set.card import (
    FORMAT,
    CardTrial,
    ClassResult,
    PlannerIdentity,
    ScoreCard,
)
from gz_testauto.extras.standard_set.classes import ScenarioClass, StandardSet, listed_bytes
from gz_testauto.results.comparability import file_sha256
from gz_testauto.trial.outcome import Outcome

WORDS = {"r": Outcome.REACHED, "c": Outcome.COLLIDED, "t": Outcome.TIMED_OUT, "?": Outcome.INVALID}
VERSIONS = {"bits": "2", "python": "3.11", "numpy": "2.0", "simulator embedded": "4"}


def trial(word, world=0, **changes):
    outcome = WORDS[word]
    metrics = {"spl": 0.5 if word == "r" else 0.0, "time_s": 10.0, "clearance_min_m": 0.2}
    values = {
        "world_sha256": f"{world:064x}",
        "outcome": outcome,
        "bits": f"{world:016x}" if outcome.valid else "",
        "metrics": metrics if outcome.valid else {},
    }
    return CardTrial(**{**values, **changes})


def card(name="fgm", planned=None, versions=VERSIONS, about=None, **classes):
    """Return a card. Each class is a text with a letter per world, such as ``rrct?``."""
    results = {
        title: ClassResult(
            len(word) if planned is None else planned,
            {"campaign file": "sha256:1"},
            {f"world_{i}": trial(letter, i) for i, letter in enumerate(word)},
        )
        for title, word in classes.items()
    }
    identity = PlannerIdentity(name, name, {}, {f"planner {name}": "sha256:2"})
    return ScoreCard(FORMAT, 1, identity, dict(versions), results, about or {})


WORLD = """<sdf version="1.6"><world name="default">
<model name="ground_plane"><static>true</static><link name="link"><collision name="collision">
<geometry><plane><normal>0 0 1</normal><size>30 30</size></plane></geometry></collision></link>
</model></world></sdf>
"""
CAMPAIGN = """
name: {name}
seed: 5
worlds:
  base: base.world
  obstacles:
    obstacles: [{{type: cylinder, count: 1, radius_m: [0.2, 0.4], length_m: 1.0}}]
    region: {{rectangle: {{x_m: [1.0, 2.0], y_m: [-0.5, 0.5]}}}}
  count: 3
robot:
  model: package://gz_testauto/models/jackal_sized/model.sdf
  start: {{x_m: 0.0, y_m: 0.0}}
  max_linear_mps: 1.0
  max_angular_radps: 1.5
goal: {{x_m: 3.0, y_m: 0.0}}
planners: [straight]
simulator: kinematic
limits: {{timeout_s: 10.0}}
"""


def write_set(folder, names=("near", "far"), version=1):
    """Write a set of small classes whose worlds have the hashes of this installation."""
    from gz_testauto.campaign.world_source import gather_worlds
    from gz_testauto.spec.campaign import BuiltinCampaignSpec
    from gz_testauto.spec.loader import load
    from gz_testauto.trial.testbed import read_body

    folder.mkdir(parents=True)
    (folder / "base.world").write_text(WORLD)
    classes = {}
    for name in names:
        file = folder / f"{name}.yaml"
        file.write_text(CAMPAIGN.format(name=name))
        spec = load(file, BuiltinCampaignSpec)
        worlds = gather_worlds(spec, read_body(spec), folder / f"worlds_{name}")
        hashes = {one.name: one.sha256 for one in worlds}
        classes[name] = ScenarioClass(name, file.name, file_sha256(file), hashes)
    (folder / "set.json").write_bytes(listed_bytes(version, classes))
    return StandardSet(folder)


def edit_json(path, edit):
    content = json.loads(path.read_text(encoding="utf-8"))
    edit(content)
    path.write_text(json.dumps(content), encoding="utf-8")
