"""Check that a page of three planners in a thousand worlds has less than 30 MB and opens in 3 s.

Repeats the worlds and recordings of a finished campaign until the specified number of worlds is
reached, writes the page, and opens it in Chromium from disk. Prints the time of writing, the size,
and the time from the request until the page can be used, as a median of --times. The last is
omitted without Chromium or Playwright.

    python3 benchmarks/report_page.py results/first [--worlds 1000] [--times 5] [--keep FILE]
"""

import argparse
import contextlib
import dataclasses
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from gz_testauto.campaign.resume import find_world
from gz_testauto.report.page.page import PAGE, write_page
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def main() -> int:
    """Create the results and the page, and open the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path, help="results of a finished campaign")
    parser.add_argument("--worlds", type=int, default=1000, help="default: %(default)s")
    parser.add_argument("--times", type=int, default=5, help="openings (default: %(default)s)")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep the page here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="report_page_") as place:
        out = Path(place) / "many"
        trials = repeat(CampaignDirectory(arguments.directory), out, arguments.worlds)
        began = time.perf_counter()
        problems = write_page(out, out / PAGE)
        made_s = time.perf_counter() - began
        size = (out / PAGE).stat().st_size
        print(f"{arguments.worlds} worlds, {trials} trials, {len(problems)} problems")
        print(f"made in {made_s:.1f} s, {size / 1e6:.1f} MB ({size / trials:.0f} bytes per trial)")
        if arguments.keep:
            shutil.copy(str(out / PAGE), str(arguments.keep))
        with contextlib.suppress(ImportError):
            from playwright.sync_api import sync_playwright

            program = next(filter(None, map(shutil.which, CHROMIUM)), None)
            if program:
                with sync_playwright() as playwright:
                    print(opened(playwright, program, out / PAGE, arguments.times))
    return 0


def repeat(source: CampaignDirectory, out: Path, count: int) -> int:
    """Fill ``out`` with ``count`` worlds, which are those of ``source`` under new names. Return the
    number of trials."""
    there = CampaignDirectory(out)
    out.mkdir()
    for path in (source.manifest, source.campaign):
        shutil.copy(str(path), str(out))
    with ResultStore.read(source) as store:
        results = store.results()
    found = [find_world(world, source) for world in results.worlds]
    worlds, trials = [], []
    there.trajectories.mkdir()
    for index in range(count):
        old = found[index % len(found)]
        name = f"world_{index:04d}"
        worlds.append(dataclasses.replace(old, world_index=index, name=name))
        for one in results.trials:
            if one.world == old.name:
                file = f"{name}--{one.planner}--{one.repetition}.npz"
                if one.trajectory:
                    shutil.copy(source.trajectories / one.trajectory, there.trajectories / file)
                trials.append(
                    dataclasses.replace(
                        one,
                        trial=len(trials),
                        world=name,
                        world_index=index,
                        trajectory=one.trajectory and file,
                    )
                )
    with ResultStore.create(there, results.name, results.planners, worlds, len(trials)) as store:
        store.declare(results.metrics)
        store.finish_all(trials)
    return len(trials)


def opened(playwright: object, program: str, page: Path, times: int) -> str:
    """Return the times of opening the page and one world on it, as text."""
    browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
    whole, world = [], []
    for _ in range(times):
        tab = browser.new_page()
        began = time.perf_counter()
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-ready]", timeout=60_000)
        whole.append(time.perf_counter() - began)
        began = time.perf_counter()
        tab.locator("#matrix tbody a").first.click()
        tab.wait_for_selector("#map svg polyline", timeout=60_000)
        world.append(time.perf_counter() - began)
        tab.close()
    browser.close()
    return (
        f"opened in {statistics.median(whole):.2f} s (slowest {max(whole):.2f}), "
        f"a world in {statistics.median(world):.2f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
