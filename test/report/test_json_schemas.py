"""Manifests and JSON exports agree with the JSON schemas in the package."""

import dataclasses
import json
from pathlib import Path

import jsonschema
import pytest

import gz_testauto.report
from gz_testauto.analysis.overview import analyze
from gz_testauto.base.resources import share_directory
from gz_testauto.cli.main import main
from gz_testauto.report import export
from gz_testauto.report.export import to_json
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.manifest import Manifest
from gz_testauto.results.records import AttemptRecord, Runner, RunningTrial, utc_now
from gz_testauto.results.store import load_campaign
from gz_testauto.spec.campaign import StopSpec

PACKAGE = Path(gz_testauto.report.__file__).parents[1]


def validator(file):
    schema = json.loads((PACKAGE / file).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


EXPORT = validator("report/export.v1.schema.json")
MANIFEST = validator("results/manifest.v1.schema.json")


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """Return the results directory of two planners in the kinematic simulator."""
    out = tmp_path_factory.mktemp("schemas") / "out"
    smoke = share_directory() / "config" / "smoke_campaign.yaml"
    options = ["--simulator", "kinematic", "--workers", "1", "--worlds", "1"]
    assert main(["run", str(smoke), "--out", str(out), *options]) == 0
    return out


def printed(capsys, *command):
    capsys.readouterr()
    assert main(list(map(str, command))) == 0
    return json.loads(capsys.readouterr().out)


def faults(validator, content):
    return [error.message for error in validator.iter_errors(content)]


@pytest.mark.slow
def test_manifest_of_a_campaign_is_valid(campaign):
    content = json.loads((campaign / "manifest.json").read_text())
    assert faults(MANIFEST, content) == []
    assert content["format"] == 1


def test_manifest_of_imported_trials_is_valid(tmp_path):
    source = tmp_path / "trials.csv"
    source.write_text("world\n")
    for simulator in ("", "arena"):
        content = json.loads(json.dumps(Manifest.imported("c", source, simulator).content))
        assert faults(MANIFEST, content) == []


def test_exports_of_report_and_compare_are_valid(campaign, tmp_path, capsys):
    alone = printed(capsys, "report", campaign, "--json")
    assert faults(EXPORT, alone) == []
    assert alone["format"] == 1
    (tmp_path / "copy").symlink_to(campaign)
    together = printed(capsys, "compare", campaign, tmp_path / "copy", "--json")
    assert faults(EXPORT, together) == []
    assert "directories" in together


def test_export_of_a_running_campaign_with_early_stop_is_valid(campaign):
    """It has all parts that a finished campaign lacks: unknown numbers, attempts, a process."""
    results = load_campaign(campaign).results
    now = utc_now()
    first, *others = results.trials
    metrics = dict.fromkeys(first.metrics, float("nan"))
    running = RunningTrial(1, "world_0000", "straight", 0, "worker 1", now)
    changed = dataclasses.replace(
        results,
        trials=(dataclasses.replace(first, metrics=metrics), *others),
        invalid_attempts=(AttemptRecord(0, 1, "the simulator stopped", 2.0, now),),
        worker_deaths=(AttemptRecord(0, 2, "killed", 1.0, now),),
        stop=StopSpec(when="decided"),
        judged=("world_0000",),
        running=Runner(12, "host", now, now, (running,)),
    )
    content = json.loads(to_json(analyze(changed)))
    assert faults(EXPORT, content) == []
    assert None in content["trials"][0]["metrics"].values()
    assert content["early_stop"]["pairs"] and content["running"]["trials"]


def paths_of_fields(value, path=()):
    """Yield the path of each key of the objects that classes declare."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from paths_of_fields(item, (*path, index))
    if isinstance(value, dict):
        for key, item in value.items():
            if not (path and path[-1] in FREE):
                yield (*path, key)
            yield from paths_of_fields(item, (*path, key))


def with_first_items(value, is_free=False):
    """Return a JSON value with only the first item of each list and of each free object. Vectors
    are complete."""
    if isinstance(value, list):
        if all(isinstance(item, float) for item in value):
            return value
        return [with_first_items(item) for item in value[:1]]
    if isinstance(value, dict):
        items = list(value.items())[: 1 if is_free else None]
        return {key: with_first_items(item, key in FREE) for key, item in items}
    return value


FREE = {"metrics", "outcomes", "inputs", "libraries", "published", "only_in"}
"""Objects whose keys are names from the campaign."""


@pytest.mark.parametrize("name", ["manifest", "export"])
def test_a_removed_field_is_invalid(campaign, capsys, name):
    if name == "manifest":
        against, content = MANIFEST, json.loads((campaign / "manifest.json").read_text())
    else:
        against, content = EXPORT, printed(capsys, "report", campaign, "--json")
    content = with_first_items(content)  # the validation of all items takes a minute
    assert against.is_valid(content)
    paths = list(paths_of_fields(content))
    assert len(paths) >= (10 if name == "manifest" else 50)
    for path in paths:
        changed = json.loads(json.dumps(content))
        parent = changed
        for part in path[:-1]:
            parent = parent[part]
        del parent[path[-1]]
        assert not against.is_valid(changed), f"without {path}"


def test_a_field_renamed_in_the_code_fails_against_the_stored_schema(campaign, monkeypatch):
    plain = export._json_value

    def renamed(value):
        found = plain(value)
        if isinstance(found, dict) and "finished_at" in found:
            found["ended_at"] = found.pop("finished_at")
        return found

    monkeypatch.setattr(export, "_json_value", renamed)
    assert faults(EXPORT, json.loads(to_json(analyze(load_campaign(campaign).results))))


def test_manifest_of_another_version_is_rejected_with_both_versions(campaign, tmp_path):
    content = json.loads((campaign / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps({**content, "format": 2}))
    assert not MANIFEST.is_valid({**content, "format": 2})
    with pytest.raises(gz_testauto.GzTestautoError, match=r"format 2, not 1"):
        Manifest.read(CampaignDirectory(tmp_path))
