"""Probes of the ground on a terminal of 80 columns."""

import io
import math

from gz_testauto.extras.simulator_comparison.probe import GroundProbe
from gz_testauto.extras.simulator_comparison.report.terminal import print_probes
from gz_testauto.report.plain import report_console

REFUSAL = (
    "the surface is up to 13.0 mm off, of which 1 mm would do; friction measures 0.47 and should "
    "be 0.55, of which 5 % would do"
)


def printed(*grounds):
    """Return the printed lines of a table of ground probes."""
    text = io.StringIO()
    rows = [("embedded MuJoCo 4.0.0", ground) for ground in grounds]
    print_probes(rows, report_console(text))
    return text.getvalue().splitlines()


def test_table_of_probes_with_long_names_fits_a_terminal():
    name, terrain = "an_entry_with_a_name_that_is_long", "a_terrain_with_a_long_name"
    lines = printed(
        GroundProbe(name, terrain, 0.013, 0.47, 0.55, REFUSAL),
        GroundProbe("near", "flat", 0.0001, math.nan, 0.55),
    )
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert "0.470" in text and "13.000" in text and "refused" in text
    assert f"{name} on {terrain}: {REFUSAL}" in " ".join(text.split())
    assert [line.split()[-1] for line in lines if line.startswith("near")] == ["correct"]
