"""Only a single planner is compared with the single planner of another name."""

import json

import pytest
from gate_tables import PASSES, gate_results, table

from gz_testauto.cli.main import main


@pytest.mark.parametrize(
    ("new", "old", "compared"),
    [
        (("fgm",), ("dwa",), {"fgm": "dwa"}),
        (("fgm", "teb"), ("dwa", "mpc"), {}),
        (("fgm", "teb"), ("dwa",), {}),
        (("fgm",), ("dwa", "mpc"), {}),
    ],
)
def test_one_planner_is_compared_with_the_only_one_of_the_baseline(
    tmp_path, capsys, new, old, compared
):
    given = gate_results(tmp_path, "new_ones", table(**dict.fromkeys(new, PASSES)))
    baseline = gate_results(tmp_path, "old", table(**dict.fromkeys(old, PASSES)))
    capsys.readouterr()
    status = main(["gate", given, "--baseline", baseline, "--json"])
    not_judged = json.loads(capsys.readouterr().out)["not_judged"]
    assert status == (0 if compared else 2)
    expected = {f"{name} has a baseline" for name in new} | {f"{name} has trials" for name in old}
    found = {entry["expectation"] for entry in not_judged}
    assert found == set() if compared else expected <= found
