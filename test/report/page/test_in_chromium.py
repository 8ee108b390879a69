"""The page in a real browser, opened from disk: clicked, filtered, driven by keys, on a wide screen
and a narrow one, in light and dark. The console must remain empty."""

import dataclasses
import re
import shutil

import numpy as np
import pytest
from page_results import HOSTILE, results
from scripted import ScriptedExecutor

from gz_testauto.campaign.runner import run_campaign
from gz_testauto.report.page.page import write_page
from gz_testauto.results.opened import OpenedResults
from gz_testauto.trial.outcome import Outcome

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="no Playwright: pip install playwright"
)

axe = pytest.importorskip("axe_playwright_python.base", reason="no axe_playwright_python")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
LIMIT_MS = 30_000
expect = sync_api.expect  # waits without the eval() that the page's policy forbids
expect.set_options(timeout=LIMIT_MS)


pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=LIMIT_MS
        )
        yield started
        started.close()


@pytest.fixture(scope="module")
def report(smoke, tmp_path_factory):
    """The page of a campaign of two worlds; in the first, straight collides."""
    place = tmp_path_factory.mktemp("page")

    def ended(trial):
        lost = (trial.world.name, trial.planner.name) == ("world_0000", "straight")
        return Outcome.COLLIDED if lost else Outcome.REACHED

    run_campaign(smoke, place / "out", lambda campaign: ScriptedExecutor(ended))
    assert write_page(OpenedResults(place / "out"), place / "report.html") == ()
    return place / "report.html"


@pytest.fixture
def opened(browser):
    """Opens a page from disk; fails at the end if the console has messages."""
    said = []
    context = browser.new_context()
    context.set_default_timeout(LIMIT_MS)

    def open_page(path, width=1280, scheme="light", at=""):
        tab = context.new_page()
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(color_scheme=scheme)
        tab.goto(path.as_uri() + at)
        tab.wait_for_selector("html[data-ready]")
        return tab

    yield open_page
    context.close()
    assert said == []


def shown_worlds(tab):
    return tab.locator("#matrix tbody tr:visible th").all_inner_texts()


def test_worlds_are_filtered_found_and_sorted(opened, report):
    tab = opened(report)
    assert shown_worlds(tab) == ["world_0000", "world_0001"]
    tab.select_option("#filter", "crash")
    assert shown_worlds(tab) == ["world_0000"]
    assert tab.locator("#shown").inner_text() == "1 of 2 worlds"
    tab.select_option("#filter", "only 1")
    assert shown_worlds(tab) == ["world_0000"]
    tab.select_option("#filter", "invalid")
    assert shown_worlds(tab) == []
    tab.select_option("#filter", "")
    tab.keyboard.press("Escape")
    tab.locator("header h1").click()
    tab.keyboard.press("/")
    tab.keyboard.type("0001")
    assert shown_worlds(tab) == ["world_0001"]
    tab.keyboard.press("Enter")
    expect(tab.locator("#world-name")).to_have_text("world_0001")
    tab.keyboard.press("Escape")
    tab.fill("#find", "")
    tab.keyboard.press("Enter")
    assert tab.locator("#matrix").is_visible()  # several worlds match
    tab.locator("#matrix thead button").first.click()
    assert shown_worlds(tab) == ["world_0001", "world_0000"]
    assert tab.locator("#matrix thead th").first.get_attribute("aria-sort") == "descending"


@pytest.mark.parametrize("has_script", [True, False])
def test_checkboxes_of_the_campaign_map_hide_trials(browser, report, has_script):
    context = browser.new_context(java_script_enabled=has_script)
    tab = context.new_page()
    try:
        tab.goto(report.as_uri())
        lines, failures = (tab.locator(f"#campaign-map a {kind}") for kind in ("path", "use"))

        def shown():
            count = """all => all.filter(
                (one) => getComputedStyle(one.closest("g")).display !== "none").length"""
            return [lines.evaluate_all(count), failures.evaluate_all(count)]

        assert shown() == [4, 1]
        tab.get_by_label("straight (2)").uncheck()
        assert shown() == [2, 0]
        tab.get_by_label("straight (2)").check()
        tab.get_by_label("reached (3)").uncheck()
        assert shown() == [1, 1]
    finally:
        context.close()


def test_a_symbol_of_the_campaign_map_opens_its_world(opened, report):
    tab = opened(report)
    tab.locator("#campaign-map use").click()
    expect(tab.locator("#world-name")).to_have_text("world_0000")
    assert tab.locator("#trials tr.chosen").inner_text().strip().startswith("straight")


def test_a_cell_opens_its_world_and_keys_open_the_next_and_previous_one(opened, report):
    tab = opened(report)
    tab.locator("#matrix td.cell.collided a").click()
    expect(tab.locator("#world-name")).to_have_text("world_0000")
    assert tab.locator("#map .path").count() == 2
    assert tab.locator("#map .obstacle").get_attribute("d").startswith("M")
    assert tab.locator("#drives canvas").count() == 3
    assert "gz_testauto replay " in tab.locator("#replays").inner_text()
    tab.keyboard.press("ArrowRight")
    expect(tab.locator("#world-name")).to_have_text("world_0001")
    assert tab.url.endswith("#w1")
    tab.go_back()
    expect(tab.locator("#world-name")).to_have_text("world_0000")
    tab.keyboard.press("Escape")
    tab.wait_for_selector("#matrix", state="visible")
    assert not tab.locator("#world").is_visible()


def test_legend_lists_the_items_of_the_map_once(opened, report):
    tab = opened(report, at="#w0")
    legend = tab.locator("#map-legend > span")
    assert legend.all_inner_texts() == [
        "straight",
        "fgm",
        "robot at the time shown",
        "last pose",
        "start",
        "goal, reached within the circle",
        "path on the static map",
    ]
    looks = """all => all.map((one) => getComputedStyle(one)).map(
        (style) => [style.stroke, style.strokeWidth, style.strokeDasharray].join())"""
    of_map = tab.locator("#map .path, #map .known").evaluate_all(looks)
    of_legend = tab.locator("#map-legend .path, #map-legend .known").evaluate_all(looks)
    assert len(set(of_map)) == 3 and sorted(of_map) == sorted(of_legend)
    assert (
        tab.locator("#map .final").first.evaluate("one => getComputedStyle(one).strokeDasharray")
        == "none"
    )


def test_map_and_charts_show_the_same_time(opened, report):
    tab = opened(report, at="#w0")
    body = tab.locator("#map .body").first
    tab.locator("#time").fill("0.5")
    assert tab.locator("#clock").inner_text() == "0.5 s"
    assert body.get_attribute("transform").startswith("translate(0.5000 0.0000)")
    assert tab.locator("#trials td.now").all_inner_texts()[:2] == ["1.00", "1.00"]
    lines = tab.locator("#drives .u-cursor-x").evaluate_all(
        "all => all.map(one => one.style.transform)"
    )
    assert len(lines) == 3 and len(set(lines)) == 1
    over = tab.locator("#chart-speed .u-over").bounding_box()
    tab.mouse.move(over["x"] + 0.9 * over["width"], over["y"] + 20)
    expect(tab.locator("#clock")).to_have_text(re.compile(r"1\.[67] s"))
    tab.locator("#time").fill("0")
    tab.locator("#play").click()
    expect(tab.locator("#clock")).to_have_text("1.9 s")


class StackExecutor(ScriptedExecutor):
    """A scripted executor whose recordings contain plans, as those of a stack."""

    def execute(self, trial, should_stop):
        result = super().execute(trial, should_stop)
        plans = {
            "global_plans": np.array([(0.0, 0.0, 0.0), (0.0, 3.0, 1.0), (0.75, 1.0, 0.0)]),
            "local_plans": np.array([(0.25, 0.0, 0.0), (0.25, 0.5, 0.25)]),
        }
        series = {**result.recording.series, **plans}
        return dataclasses.replace(
            result, recording=dataclasses.replace(result.recording, series=series)
        )


def test_map_shows_the_plans_of_a_stack_at_the_time_shown(opened, smoke, tmp_path):
    run_campaign(
        smoke, tmp_path / "out", lambda campaign: StackExecutor(lambda trial: Outcome.REACHED)
    )
    write_page(OpenedResults(tmp_path / "out"), tmp_path / "report.html")
    tab = opened(tmp_path / "report.html", at="#w0")
    plans = [tab.locator(f"#map .{kind}-plan").first for kind in ("global", "local")]

    def shown():
        return [one.get_attribute("points") for one in plans if one.is_visible()]

    tab.locator("#time").fill("0")
    assert shown() == ["0,0 3,1"]
    tab.locator("#time").fill("0.5")
    assert shown() == ["0,0 3,1", "0,0 0.5,0.25"]
    tab.locator("#time").fill("1.9")
    assert plans[0].get_attribute("points") == "1,0"
    legend = tab.locator("#map-legend > span").all_inner_texts()
    assert {"global plan at the time shown", "local plan at the time shown"} <= set(legend)


def test_further_worlds_are_a_link(opened, tmp_path):
    worlds = [f"world_{i:04d}" for i in range(15)]
    write_page(OpenedResults(results(tmp_path / "out", worlds)), tmp_path / "report.html")
    tab = opened(tmp_path / "report.html")
    tab.fill("#find", "0001")
    tab.get_by_role("link", name="and 3 more").click()
    expect(tab.locator("#filter option:checked")).to_have_text("fgm, not dwa")
    assert tab.url.endswith("#worlds")
    expect(tab.locator("#matrix tbody tr:visible th")).to_have_text(worlds)
    assert tab.locator("#shown").inner_text() == "15 worlds"


def test_axes_are_named_with_their_units(opened, report):
    tab = opened(report, at="#w0")
    assert tab.locator("#map .axis").all_text_contents() == ["x (m)", "y (m)"]
    named = """() => { const said = []; const fill = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
            said.push(text); return fill.call(this, text, ...rest); };
        dispatchEvent(new Event("afterprint"));
        return new Promise((done) => setTimeout(() => done(said), 200)); }"""
    assert tab.evaluate(named).count("time (s)") == 3


ASKEW = """() => [...document.querySelectorAll("table")].flatMap((table) => {
  if (!table.tHead || !table.tBodies[0].rows.length) return [];
  const side = (cell) => getComputedStyle(cell).textAlign;
  const cells = [...table.tBodies[0].rows[0].cells];
  return [...table.tHead.rows[0].cells].filter((head, i) =>
    side(head) !== side(cells[i])).map((head) => head.textContent);
})"""


def test_headings_are_above_their_cells(opened, report):
    tab = opened(report, at="#w0")
    assert tab.evaluate(ASKEW) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_has_no_horizontal_scroll_bar(opened, report, tmp_path, width, scheme):
    tab = opened(report, width, scheme)
    for place in ("#verdict", "#w0"):
        tab.evaluate("place => { location.hash = place; }", place)
        tab.wait_for_selector("#world", state="visible" if place == "#w0" else "hidden")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert len(tab.screenshot(full_page=True)) > 10_000
    back = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(255, 255, 255)") == (scheme == "light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_has_no_serious_accessibility_violation(browser, report, scheme):
    """Contrast, names of controls, order of headings, reach by keyboard: axe-core's rules."""
    context = browser.new_context(bypass_csp=True, color_scheme=scheme)  # axe is a script more
    tab = context.new_page()
    try:
        for place in ("", "#w0"):
            tab.goto(report.as_uri() + place)
            tab.reload()
            tab.wait_for_selector("html[data-ready]")
            tab.evaluate(axe.AXE_FILE_PATH.read_text(encoding="utf-8"))
            found = tab.evaluate("axe.run()")["violations"]
            said = [(one["id"], one["nodes"][0]["html"]) for one in found]
            assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == [], (
                said
            )
    finally:
        context.close()


def test_markup_in_names_is_escaped(opened, tmp_path):
    out = results(tmp_path / "out", (f"w{HOSTILE}", "plain"), ("fgm", f"p{HOSTILE}"), HOSTILE)
    write_page(OpenedResults(out), tmp_path / "report.html")
    tab = opened(tmp_path / "report.html", at="#w0")
    assert tab.locator("#world-name").inner_text() == f"w{HOSTILE}"
    assert tab.locator("img").count() == 0
    assert tab.locator("#trials label").all_inner_texts()[1].strip() == f"p{HOSTILE}"
    tab.keyboard.press("Escape")
    tab.wait_for_selector("#matrix", state="visible")


def test_print_is_light_in_dark_mode(opened, report):
    tab = opened(report, scheme="dark")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.evaluate("document.querySelectorAll('.chart canvas').length") >= 1


def test_headers_that_are_repeated_on_printed_pages_contain_no_buttons(opened, report):
    """Chromium omits buttons from the repeated header, so that it would be empty."""
    tab = opened(report)
    tab.emulate_media(media="print")
    shown = "[...document.querySelectorAll('thead button')].map((b) => getComputedStyle(b).display)"
    assert {*tab.evaluate(shown)} == {"contents"}
