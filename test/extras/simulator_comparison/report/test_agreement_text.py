"""The report on two simulators that ran the same trials."""

import io
from dataclasses import replace

from scripted import record

from gz_testauto.extras.simulator_comparison.agreement import agreement
from gz_testauto.extras.simulator_comparison.report.agreement import print_agreement
from gz_testauto.report.plain import report_console
from gz_testauto.results.records import CampaignResults
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.record import WorldRecord


def campaign(planners, stuck):
    """Each planner reaches in every world but in the first so many, one trial each."""
    worlds = tuple(WorldRecord(i, f"world_{i:04d}", f"{i}.world", f"sha{i}") for i in range(10))
    trials = [
        record(
            world=one.name,
            world_index=one.world_index,
            planner=planner,
            outcome=Outcome.STUCK if one.world_index < lost else Outcome.REACHED,
            detail="",
            metrics={"spl": 0.0 if one.world_index < lost else 0.9},
        )
        for one in worlds
        for planner, lost in zip(planners, stuck)
    ]
    return CampaignResults("c", planners, worlds, 20, tuple(trials))


def printed(first, second):
    text = io.StringIO()
    print_agreement(agreement(first, second), "gazebo", "embedded", report_console(text))
    assert max(map(len, text.getvalue().splitlines())) <= 80
    return " ".join(text.getvalue().split())


def test_the_correlation_of_planners_follows_the_table_with_its_intervals():
    said = printed(campaign(("a", "b"), (2, 6)), campaign(("a", "b"), (3, 6)))
    assert "planners by cells SRCC Spearman's same winner" in said
    assert "success 20 0.90 [" in said
    assert "1.00" in said and "[1.00, 1.00]" not in said
    assert "Intervals: bootstrap over worlds" in said


def test_correlation_of_one_planner_is_reported_as_unknown():
    both = campaign(("a",), (2,))
    said = printed(both, replace(both, name="d"))
    assert "correlation of planners in both simulators is unknown: two planners" in said
    assert "SRCC" not in said
