import dataclasses

from page_results import results

from gz_testauto.analysis.success_curve import success_curve
from gz_testauto.report.page.content import slopes
from gz_testauto.report.page.difficulty import Figure, figures_of_worlds
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import load_campaign
from gz_testauto.worlds.record import WorldRecord


def test_published_numbers_have_a_heading_with_unit_and_counts_have_no_decimals(tmp_path):
    published = ({"path_m": 9.5, "obstacles": 3.0}, {"path_m": 10.0, "obstacles": 4.0})
    worlds = [
        WorldRecord(i, f"w{i}", tmp_path, f"{i}", None, one) for i, one in enumerate(published)
    ]
    figures = figures_of_worlds(CampaignDirectory(tmp_path), None, worlds, [])
    assert [(one.heading, one.unit, one.decimals) for one in figures] == [
        ("published shortest path", "m", 2),
        ("published obstacles", "", 0),
    ]


def test_trends_are_significant_only_after_adjustment_for_all_figures(tmp_path):
    curve = success_curve(range(8), [1, 1, 1, 0, 1, 0, 0, 0], [1] * 8)
    p_values = [0.004, 0.02, 0.03, 0.2, 0.4, 0.6, 0.8, 1.0]
    fitted = {
        Figure(f"figure_{at}", f"figure {at}", "m"): [dataclasses.replace(curve, p=p)]
        for at, p in enumerate(p_values)
    }
    rows = slopes(load_campaign(results(tmp_path / "out", planners=("fgm",))).results, fitted)
    assert [one["p"] for one in rows] == ["0.032", "0.140", "0.180"] + ["1.000"] * 5
    assert [one["trend"] for one in rows] == ["falls"] + ["no significant trend"] * 7
