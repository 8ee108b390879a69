from gz_testauto.report.page.difficulty import figures_of_worlds
from gz_testauto.results.directory import CampaignDirectory
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
