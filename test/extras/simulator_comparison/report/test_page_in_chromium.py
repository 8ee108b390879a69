"""The HTML page in a browser, with wide and narrow screens and light and dark colors: layout and
accessibility. The console must have no messages."""

import shutil

import pytest
from benches import paper, simulated_report

from gz_testauto.extras.simulator_comparison.report.page import write_page

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="no Playwright: pip install playwright"
)
axe = pytest.importorskip("axe_playwright_python.base", reason="no axe_playwright_python")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
LIMIT_MS = 30_000

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


@pytest.fixture(scope="module", params=["paper", "simulated"])
def report(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / f"{request.param}.html"
    found = paper() if request.param == "paper" else simulated_report()
    write_page(found, path)
    return path


def opened(browser, path, messages, **settings):
    context = browser.new_context(**settings)
    context.set_default_timeout(LIMIT_MS)
    tab = context.new_page()
    tab.on("console", lambda message: messages.append(message.text))
    tab.on("pageerror", lambda error: messages.append(str(error)))
    tab.goto(path.as_uri())
    return context, tab


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_page_fits_the_screen_without_scripts(browser, report, width, scheme):
    messages = []
    context, tab = opened(
        browser,
        report,
        messages,
        java_script_enabled=False,
        color_scheme=scheme,
        viewport={"width": width, "height": 900},
    )
    try:
        assert len(tab.screenshot(full_page=True)) > 10_000
        assert tab.locator("main").bounding_box()["width"] <= width
        assert tab.locator("#verdict .lead").first.is_visible()
        assert messages == []
    finally:
        context.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_page_has_no_serious_accessibility_error(browser, report, width, scheme):
    """The rules are those of axe-core, such as contrast, names, order of headings and keyboard
    access."""
    messages = []
    context, tab = opened(
        browser,
        report,
        messages,
        bypass_csp=True,  # axe is a script
        color_scheme=scheme,
        viewport={"width": width, "height": 900},
    )
    try:
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        tab.evaluate(axe.AXE_FILE_PATH.read_text(encoding="utf-8"))
        found = tab.evaluate("axe.run()")["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
        assert messages == []
    finally:
        context.close()
