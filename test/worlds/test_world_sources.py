"""Existing worlds, and world sources: the example of docs/worlds.md, installed and used."""

import json
import pickle
import re
from pathlib import Path

import pytest

from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.campaign.resume import open_for_replay, read_campaign
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.campaign.world_source import gather_worlds
from gz_testauto.cli.trust import require_trust
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import parse
from gz_testauto.spec.worlds import WORLD_SOURCES
from gz_testauto.trial.testbed import read_body
from gz_testauto.worlds.manifest import read_worlds
from gz_testauto.worlds.multiply import multiply
from gz_testauto.worlds.source import (
    Missions,
    WorldSource,
    generated_worlds,
    missions_of,
    world_source,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "worlds.md"
CAMPAIGN = """\
name: slalom
seed: 4
worlds:
  slalom: {poles: 3, offset_m: 0.8}
  count: 2
robot:
  model: package://gz_testauto/models/wheelchair/model.sdf
  start: {x_m: -2.0, y_m: 0.0}
goal: {x_m: 2.0, y_m: 3.0}
planners: [straight]
simulator: kinematic
limits: {timeout_s: 10.0}
"""


def test_worlds_of_a_previous_run_are_read(smoke, tmp_path):
    folder = tmp_path / "worlds"
    multiply(
        smoke.worlds.base,
        smoke.worlds.obstacles.model_copy(update={"solvable": None, "keep_out": []}),
        2,
        5,
        folder,
    )
    assert generated_worlds(folder) == read_worlds(folder)
    assert len(generated_worlds(folder).worlds) == 2


@pytest.mark.parametrize("text", ["{", "[]", '{"schema_version": 99}'])
def test_damaged_worlds_of_a_campaign_are_reported(tmp_path, text):
    (tmp_path / "worlds.json").write_text(text)
    with pytest.raises(ResultsError, match=str(tmp_path)):
        generated_worlds(tmp_path)


def test_missing_worlds_of_a_campaign_are_reported(tmp_path):
    with pytest.raises(ResultsError, match="none"):
        generated_worlds(tmp_path / "none")


def test_a_base_world_has_no_source_and_uses_the_missions_of_the_campaign(smoke, tmp_path):
    assert world_source(smoke) is None
    mission = missions_of(smoke, tmp_path).of("world_0000")
    assert mission == Missions(smoke).of("world_0000")


@pytest.mark.parametrize("method", ["generate", "input_files"])
def test_a_source_must_implement_its_abstract_methods(method):
    methods = {"generate": lambda *_: None, "input_files": lambda *_: {}}
    methods.pop(method)
    incomplete = type("Incomplete", (WorldSource,), methods)
    with pytest.raises(TypeError, match=f"abstract.*{method}"):
        incomplete(None, 1, 0)


@pytest.fixture
def documented_source(tmp_path, monkeypatch):
    """Install the example as a package."""
    text = PAGE.read_text().split("### A world source of your own")[1]
    code, metadata = (
        re.search(f"```{language}\n(.*?)```", text, re.S).group(1)
        for language in ("python", "toml")
    )
    group, entry = re.fullmatch(r'\[project.entry-points."(.*)"\]\n(.*)\n', metadata).groups()
    information = tmp_path / "site" / "worlds-1.dist-info"
    information.mkdir(parents=True)
    (tmp_path / "site" / "my_worlds.py").write_text(code)
    (information / "METADATA").write_text("Name: worlds\nVersion: 1\n")
    (information / "entry_points.txt").write_text(f"[{group}]\n" + entry.replace('"', ""))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setattr(WORLD_SOURCES, "_discovered", False)
    monkeypatch.setattr(WORLD_SOURCES, "_loaders", dict(WORLD_SOURCES._loaders))


def campaign(*changes):
    text = CAMPAIGN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse(text, CampaignSpec, Path("slalom.yaml"))


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("poles: 3", "poles: 0", r":4: worlds\.slalom\.poles is 0"),
        ("poles: 3", "pole: 3", r":4: worlds\.slalom: .*'pole'.*'poles'"),
        ("  count: 2\n", "", r":3: worlds: 'slalom' .* 'count'"),
        ("  count", "  repair: true\n  count", r":3: worlds: 'repair' .* 'slalom'"),
        ("  count", "  directory: .\n  count", r":3: worlds: .*\bslalom\b"),
        ("slalom: {", "slalon: {", r":4: worlds: .*'slalon'"),
    ],
)
def test_errors_in_the_section_of_a_source_have_file_line_and_field(
    old, new, error, documented_source
):
    with pytest.raises(SpecError, match=r"slalom\.yaml" + error):
        campaign((old, new))


def test_a_source_that_cannot_be_loaded_is_an_error_of_its_section(documented_source, monkeypatch):
    monkeypatch.setitem(WORLD_SOURCES._references, "slalom", "my_worlds:Slalom")
    monkeypatch.setitem(WORLD_SOURCES._extras, "slalom", ("my_extra", "my_worlds:Slalom"))
    monkeypatch.setitem(WORLD_SOURCES._loaders, "slalom", lambda: __import__("absent_library"))
    with pytest.raises(
        SpecError, match=r"slalom\.yaml:4: worlds\.slalom.*absent_library.*my_extra"
    ):
        campaign()


@pytest.mark.parametrize(
    "copied", [lambda spec: pickle.loads(pickle.dumps(spec)), lambda spec: spec]
)
def test_a_stored_or_pickled_campaign_has_the_section_of_its_source(documented_source, copied):
    spec = copied(campaign())
    assert (spec.worlds.source.poles, spec.worlds.source.offset_m) == (3, 0.8)
    data = json.loads(spec.model_dump_json())
    assert CampaignSpec.kind_of(data).model_validate(data) == spec


@pytest.mark.slow
def test_world_of_a_source_depends_only_on_seed_and_number(documented_source, tmp_path):
    spec = campaign()
    two = gather_worlds(spec, read_body(spec), tmp_path / "two")
    more = campaign(("count: 2", "count: 3"))
    three = gather_worlds(more, read_body(more), tmp_path / "three")
    assert [one.sha256 for one in two] == [one.sha256 for one in three][:2]
    assert two[0].sha256 != two[1].sha256


@pytest.mark.slow
def test_a_campaign_in_worlds_of_a_source_is_continued_and_replayed(
    documented_source, tmp_path, monkeypatch
):
    out = tmp_path / "out"
    spec = campaign()
    first = run_campaign(spec, out, chosen_executor(spec, out))
    assert [trial.outcome.valid for trial in first.trials] == [True, True]
    monkeypatch.setattr(WORLD_SOURCES.get("slalom"), "generate", None)  # the worlds exist
    again = run_campaign(spec, out, chosen_executor(spec, out))
    assert [trial.outcome for trial in again.trials] == [trial.outcome for trial in first.trials]
    assert read_campaign(CampaignDirectory(out))[0] == spec
    with ResultStore.open(CampaignDirectory(out)) as store:
        replayed = open_for_replay(CampaignDirectory(out), store, require_trust)
    assert replayed.trials[0].world.name == "world_0000"
