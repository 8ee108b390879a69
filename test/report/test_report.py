import csv
import dataclasses
import io
import json

import pytest
from rich.console import Console

from gz_testauto.analysis.overview import analyze
from gz_testauto.metrics.interface import builtin_metrics
from gz_testauto.metrics.traffic import lane_departure_share
from gz_testauto.report.export import to_csv, to_json
from gz_testauto.report.latex import to_latex
from gz_testauto.report.table import closing_lines, print_report
from gz_testauto.results.records import AttemptRecord, CampaignResults, TrialRecord
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.record import WorldRecord

RARE = [outcome for outcome in Outcome if outcome.declaration.rare]
OUTCOMES = [outcome for outcome in Outcome if outcome not in RARE]
PLANNERS = ("fgm", "fgm_improved", "dynamic_window_careful")


def campaign(worlds=12, planners=PLANNERS, repetitions=1, attempts=()):
    outcomes = OUTCOMES
    trials = []
    for world in range(worlds):
        for repetition in range(repetitions):
            for position, planner in enumerate(planners):
                outcome = outcomes[(world * (position + 1) + repetition) % len(outcomes)]
                metrics = {
                    "distance_m": 30.0 + world + position,
                    "time_s": 100.5,
                    "safety": 0.1,
                    "comfort_mps2": 0.2,
                    "spl": float(outcome is Outcome.REACHED),
                    "cycle_mean_s": 0.0123,
                    "impact_speed_mps": float("nan"),
                }
                trials.append(
                    TrialRecord(
                        len(trials),
                        f"world_{world:04d}",
                        world,
                        planner,
                        repetition,
                        1,
                        outcome,
                        'said "no", and stopped',
                        1,
                        2.0,
                        "2024-01-01T00:00:00+00:00",
                        "x.npz",
                        {} if outcome is Outcome.INVALID else metrics,
                    )
                )
    records = tuple(WorldRecord(w, f"world_{w:04d}", "", "") for w in range(worlds))
    return CampaignResults("paper", planners, records, len(trials) + 2, tuple(trials), attempts)


def printed(results):
    stream = io.StringIO()
    print_report(analyze(results), Console(file=stream, width=80, highlight=False))
    return stream.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("worlds", [1, 12, 500])
@pytest.mark.parametrize("repetitions", [1, 3])
def test_the_table_has_at_most_80_columns(worlds, repetitions):
    text = printed(campaign(worlds, repetitions=repetitions))
    assert max(map(len, text.splitlines())) <= 80


def test_table_reports_its_number_of_trials():
    text = printed(campaign())
    assert "36 trials of 38, 12 worlds, 3 planners" in text
    assert "fgm" in text
    assert "2/10" in text  # two of twelve are invalid and not counted
    assert "only fgm_improved (2):\n  world_0003 world_0009\n" in text


def on_stack(record, **metrics):
    told = {"real_time_factor": 0.98, "missed_control_cycles": 0.0}
    return dataclasses.replace(record, metrics={**record.metrics, **told, **metrics})


def test_note_below_the_table_names_planners_on_a_busy_machine():
    results = campaign(planners=("fgm", "dwa"))
    trials = [on_stack(record) for record in results.trials]
    trials[0] = on_stack(trials[0], real_time_factor=0.64)
    trials[2] = on_stack(trials[2], real_time_factor=0.79, missed_control_cycles=6.0)
    trials[3] = on_stack(trials[3], late_periods=2.0)
    slow = "real-time factor 0.49, below stack.min_real_time_factor = 0.8: this machine"
    attempts = (AttemptRecord(4, 1, slow, 1.0, ""), AttemptRecord(5, 1, "gzserver died", 1.0, ""))
    busy = dataclasses.replace(results, trials=tuple(trials), invalid_attempts=attempts)
    text = " ".join(printed(busy).split())
    assert (
        "The machine was busy: fgm: 1 attempt too slow to count, 2 trials below real-time factor "
        "0.8, 1 trial with missed control cycles dwa: 1 trial with late periods"
    ) in text
    loads = [planner["load"] for planner in json.loads(to_json(analyze(busy)))["planners"]]
    assert loads[0] == {
        "slow_attempts": 1,
        "slow_trials": 2,
        "missed_cycles_trials": 1,
        "late_trials": 0,
        "slow_factor": 0.8,
    }
    assert "busy" not in printed(results)


def test_a_simulation_in_lock_step_is_never_too_slow():
    results = campaign()
    trials = tuple(
        dataclasses.replace(record, metrics={**record.metrics, "real_time_factor": 0.1})
        for record in results.trials
    )
    assert "busy" not in printed(dataclasses.replace(results, trials=trials))


def test_trials_that_tipped_over_have_a_column_where_there_are_some():
    results = campaign()
    assert "tipped" not in printed(results)
    trials = list(results.trials)
    trials[1] = dataclasses.replace(trials[1], outcome=Outcome.TIPPED_OVER)
    text = printed(dataclasses.replace(results, trials=tuple(trials)))
    assert "tipped" in text
    assert max(map(len, text.splitlines())) <= 80


def test_share_of_time_off_the_road_is_in_the_first_table():
    """The last planner has no lanes. Of fgm, four of the valid trials have the share 0.75."""
    results = campaign()
    without_road = printed(results)
    assert "off road" not in without_road.lower()
    assert next(line for line in without_road.splitlines() if line[:4] == "fgm ").split()[-1] == "2"
    shares = {"fgm": [0.25, 0.75], "fgm_improved": [0.93, 0.93]}
    trials = []
    for record in results.trials:
        values = shares.get(record.planner)
        share = {"lane_departure_share": values[record.world_index % 2]} if values else {}
        is_valid = record.outcome.valid
        metrics = {**record.metrics, **share} if is_valid else {"lane_departure_share": 0.0}
        trials.append(dataclasses.replace(record, metrics=metrics))
    declared = (*builtin_metrics(), lane_departure_share)
    on_road = dataclasses.replace(results, trials=tuple(trials), declared=declared)
    text = printed(on_road)
    assert max(map(len, text.splitlines())) <= 80
    rows = [line.split() for line in text.splitlines()]
    head = next(index for index, row in enumerate(rows) if row[-2:] == ["off", "road"])
    assert [row[-2:] for row in rows[head + 1 : head + 3]] == [["45.0", "%"], ["93.0", "%"]]
    assert "outside all lanes" in text
    latex = [line.rstrip("\\ ").split(" & ") for line in to_latex(analyze(on_road)).splitlines()]
    shares = {row[0].strip(): row[-1] for row in latex if row[-1:] and "%" in row[-1]}
    assert (shares["fgm"], shares["fgm\\_improved"]) == ("45.0 \\%", "93.0 \\%")


def test_invalid_attempts_are_reported_with_their_causes():
    attempts = tuple(AttemptRecord(3, n + 1, "gzserver died", 1.0, "") for n in range(3))
    text = printed(campaign(attempts=attempts))
    assert "Invalid: 3 attempts" in text
    assert "3 × gzserver died" in text
    assert "0 attempts repeated or abandoned, 2 trials lost" in printed(campaign())
    valid = [trial for trial in campaign().trials if trial.outcome.valid]
    assert "Invalid" not in printed(dataclasses.replace(campaign(), trials=tuple(valid)))


def test_deaths_of_workers_are_reported():
    deaths = (AttemptRecord(3, 1, "the worker process died", 1.0, ""),)
    told = dataclasses.replace(campaign(), worker_deaths=deaths)
    assert "because of a dead worker: 1 attempt." in printed(told)
    assert json.loads(to_json(analyze(told)))["worker_deaths"][0]["trial"] == 3
    assert "Workers died" not in printed(campaign())


def test_closing_lines_name_the_page_and_the_first_failed_trial(tmp_path):
    out = tmp_path / "my results"
    assert closing_lines(campaign(worlds=1, planners=PLANNERS[:1]), out) == [f"results: {out}"]
    out.mkdir()
    (out / "report.html").touch()
    lines = closing_lines(campaign(repetitions=2), out, "bin/gz_testauto")
    assert lines[:2] == [f"results: {out}", f"open {out}/report.html in a browser"]
    command = f"bin/gz_testauto replay '{out}' 0 fgm --repetition 1"
    assert lines[2:] == [f"run a failed trial again: {command}"]


def test_campaign_without_results_is_reported():
    empty = CampaignResults("paper", PLANNERS, (), 10, ())
    assert "No valid trial yet" in printed(empty)


def test_csv_has_a_row_per_trial_and_reads_back():
    results = campaign(repetitions=2)
    rows = list(csv.DictReader(io.StringIO(to_csv(results))))
    assert len(rows) == len(results.trials)
    assert rows[0]["detail"] == 'said "no", and stopped'
    assert rows[0]["outcome"] == "reached"
    assert float(rows[0]["distance_m"]) == 30.0
    assert rows[0]["impact_speed_mps"] == ""
    invalid = next(row for row in rows if row["outcome"] == "invalid")
    assert invalid["distance_m"] == ""


def test_json_is_valid_and_contains_units():
    document = json.loads(to_json(analyze(campaign())), parse_constant=pytest.fail)
    assert document["metrics"]["distance_m"]["unit"] == "m"
    assert document["trials"][0]["outcome"] == "reached"
    assert document["trials"][0]["metrics"]["impact_speed_mps"] is None
    assert document["planners"][0]["success"]["method"] == "Clopper–Pearson"
    assert len(document["comparison"]["pairs"]) == 3
