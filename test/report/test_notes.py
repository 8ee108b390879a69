"""Each note about a campaign is in every format."""

import dataclasses
import html
import io
import json
import re

import pytest
from page_results import make_page
from rich.console import Console
from scripted import record

from gz_testauto.analysis.overview import analyze
from gz_testauto.metrics.interface import builtin_metrics
from gz_testauto.report import notes as written
from gz_testauto.report.export import to_json
from gz_testauto.report.latex import latex_text, to_latex
from gz_testauto.report.table import print_report
from gz_testauto.report.verdicts import success_verdict
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.manifest import Manifest
from gz_testauto.results.records import AttemptRecord
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import StopSpec
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.record import WorldRecord

PLANNERS = ("a", "b", "c")
WORLDS = 4


def store_campaign(out, stop, selection):
    """Write a results directory about which notes have something to state."""
    directory, source = CampaignDirectory(out), out / "trials.csv"
    source.write_text("")
    Manifest.imported("paper", source, "simulator 1").write(directory)
    known = {"published": {"path_m": 4.0}, "missing": ("model://x",), "unmeasured": ("smoke",)}
    known["other_visuals"] = ("shelf",)
    hashes = ("0", "1", "2", "2")
    worlds = [WorldRecord(i, f"w{i}", out / "w", sha, **known) for i, sha in enumerate(hashes)]
    plan = [(w, p, r) for w in range(WORLDS) for p in PLANNERS for r in range(2)]
    invalid = plan.index((0, "c", 1))
    late = {"time_s": 9.0, "missed_control_cycles": 1.0, "real_time_factor": 0.5, "barn_score": 0.3}
    with ResultStore.create(directory, "paper", PLANNERS, worlds, len(plan) + 1, stop) as store:
        if selection:
            store.select(selection)
        store.declare(builtin_metrics())
        store.add_notices(["costmap check, no topic", "clearing of costmaps"])
        store.add_invalid_attempt(AttemptRecord(1, 1, "gzserver died", 1.0, "then"))
        store.add_worker_death(AttemptRecord(2, 1, "the worker died", 1.0, "then"))
        store.finish_all(
            [
                record(
                    number,
                    world=f"w{world}",
                    world_index=world,
                    planner=planner,
                    repetition=repetition,
                    outcome=Outcome.INVALID
                    if number == invalid
                    else Outcome.REACHED
                    if world % 2 or planner == "a"
                    else Outcome.PLANNER_ABORTED
                    if planner == "b" and world == 2
                    else Outcome.STUCK,
                    detail=f"no attribute 'waypoints' in cycle {number}",
                    trajectory="",
                    metrics=late,
                )
                for number, (world, planner, repetition) in enumerate(plan)
            ]
        )
        for world in worlds if stop else ():
            store.judge(world.name)


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory):
    """Return analysis, terminal and page of a campaign that ends when decided, one that does not,
    which alone compares all planners together, and one with selected worlds."""
    found = []
    for stop, selection in ((StopSpec(when="decided"), ""), (None, ""), (None, "two worlds")):
        out = tmp_path_factory.mktemp("notes")
        store_campaign(out, stop, selection)
        with ResultStore.read(CampaignDirectory(out)) as store:
            analysis = analyze(store.results())
        stream = io.StringIO()
        print_report(analysis, Console(file=stream, width=80, markup=False))
        page = html.unescape(re.sub("<[^>]*>", " ", make_page(out).html))
        found.append((analysis, words(stream.getvalue()), words(page)))
    return found


def words(text):
    return " ".join(text.split())


NOTES = (
    "early_stop_notes",
    "early_stop_caveats",
    "load_notes",
    "barn_notes",
    "correlation_notes",
    "overall_notes",
    "missing_notes",
    "unmeasured_notes",
    "visuals_notes",
    "stack_notes",
    "aborted_notes",
    "invalid_notes",
    "worker_deaths_notes",
    "selection_notes",
    "copies_notes",
    "validity_notes",
    "means_notes",
)
CAMPAIGN = {"overall_notes": 1, "selection_notes": 2}
"""Campaigns of notes that the first one lacks."""


def noted(analysis, name):
    """Return the notes that one function makes, which are not none."""
    of = {
        "barn_notes": (analysis.results, analysis.summaries),
        "early_stop_notes": (analysis.early_stop,),
        **dict.fromkeys(("means_notes", "overall_notes"), (analysis,)),
        **dict.fromkeys(
            ("load_notes", "correlation_notes", "validity_notes"), (analysis.summaries,)
        ),
    }
    found = list(getattr(written, name)(*of.get(name, (analysis.results,))))
    assert found
    return found


@pytest.mark.parametrize("name", NOTES)
def test_a_note_is_in_terminal_page_latex_and_json(name, campaigns):
    analysis, terminal, page = campaigns[CAMPAIGN.get(name, 0)]
    in_json = json.loads(to_json(analysis))["notes"]
    for note in noted(analysis, name):
        assert latex_text(str(note)) in to_latex(analysis)
        assert str(note) in in_json
        for text in (terminal, page):
            assert note.text in text
            assert all(item in text or item.partition(" × ")[2] in text for item in note.items)


def test_equal_reasons_of_a_planner_that_aborts_are_counted_together(campaigns):
    (note,) = written.aborted_notes(campaigns[0][0].results)
    assert str(note) == (
        "Aborted by the planner: 2 trials. Most frequent reasons: "
        "2 × b: no attribute 'waypoints' in cycle 14."
    )


def test_page_lists_causes_in_a_separate_table(campaigns):
    _, _, page = campaigns[0]
    assert "gzserver died" in page
    assert "1 × gzserver died" not in page


def test_every_function_that_makes_notes_is_tested_here():
    made = {name for name in vars(written) if name.endswith(("_notes", "_caveats"))}
    assert made == {*NOTES, "running_notes"}


def test_latex_states_how_much_of_the_campaign_has_finished(campaigns):
    analysis = campaigns[0][0]
    results = dataclasses.replace(analysis.results, planned=99)
    text = to_latex(dataclasses.replace(analysis, results=results))
    assert f"{len(results.trials)} trials of 99, 4 worlds" in text


@pytest.mark.parametrize("ends_early", [False, True])
def test_terminal_and_page_state_the_same_verdict(ends_early, campaigns):
    analysis, terminal, page = campaigns[not ends_early]
    assert (analysis.early_stop is not None) == ends_early
    for pair in analysis.comparisons.pairs:
        verdict = success_verdict(pair, analysis.early_stop)
        for text in (terminal, page):
            assert words(verdict.lead) in text
            assert words(verdict.evidence) in text
