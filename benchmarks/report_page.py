"""Check that a page of three planners in a thousand worlds has less than 30 MB and opens in 3 s.

Repeats the worlds and recordings of a finished campaign until the specified number of worlds is
reached, writes the page, and opens it in Chromium from disk. Prints the time of writing, the size,
and the median time from the request until the page can be used. The last is omitted without
Chromium or Playwright.

    python3 benchmarks/report_page.py results/first [--worlds 1000] [--times 5] [--keep FILE]
"""

import argparse
import contextlib
import dataclasses
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from gz_testauto.campaign.resume import find_world
from gz_testauto.report.page.page import PAGE, write_page
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.opened import OpenedResults
from gz_testauto.results.store import ResultStore

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path, help="results of a finished campaign")
    parser.add_argument("--worlds", type=int, default=1000, help="default: %(default)s")
    parser.add_argument("--times", type=int, default=5, help="openings (default: %(default)s)")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep the page here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="report_page_") as place:
        out = Path(place) / "many"
        trials = repeat(CampaignDirectory(arguments.directory), out, arguments.worlds)
        began_s = time.perf_counter()
        problems = write_page(OpenedResults(out), out / PAGE)
        written_s = time.perf_counter() - began_s
        size = (out / PAGE).stat().st_size
        print(f"{arguments.worlds} worlds, {trials} trials, {len(problems)} problems")
        size_text = f"{size / 1e6:.1f} MB ({size / trials:.0f} bytes per trial)"
        print(f"written in {written_s:.1f} s, {size_text}")
        if arguments.keep:
            shutil.copy(str(out / PAGE), str(arguments.keep))
        with contextlib.suppress(ImportError):
            from playwright.sync_api import sync_playwright

            program = next(filter(None, map(shutil.which, CHROMIUM)), None)
            if program:
                with sync_playwright() as playwright:
                    print(open_page(playwright, program, out / PAGE, arguments.times))


def repeat(source, out, count):
    """Fill ``out`` with ``count`` worlds, which are those of ``source`` under new names. Return the
    number of trials."""
    target = CampaignDirectory(out)
    out.mkdir()
    for path in (source.manifest, source.campaign):
        shutil.copy(path, out)
    with ResultStore.read(source) as store:
        results = store.results()
    originals = [find_world(world, source) for world in results.worlds]
    worlds, trials = [], []
    target.trajectories.mkdir()
    for index in range(count):
        original = originals[index % len(originals)]
        name = f"world_{index:04d}"
        worlds.append(dataclasses.replace(original, world_index=index, name=name))
        for record in results.trials:
            if record.world != original.name:
                continue
            changes = {"trial": len(trials), "world": name, "world_index": index}
            if record.trajectory:
                file = f"{name}--{record.planner}--{record.repetition}.npz"
                shutil.copy(source.trajectories / record.trajectory, target.trajectories / file)
                changes["trajectory"] = file
            trials.append(dataclasses.replace(record, **changes))
    with ResultStore.create(target, results.name, results.planners, worlds, len(trials)) as store:
        store.declare(results.metrics)
        store.finish_all(trials)
    return len(trials)


def open_page(playwright, program, page, times):
    """Return the times of opening the page and one world on it, as text."""
    browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
    page_s, world_s = [], []
    for _ in range(times):
        tab = browser.new_page()
        began_s = time.perf_counter()
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-ready]", timeout=60_000)
        page_s.append(time.perf_counter() - began_s)
        began_s = time.perf_counter()
        tab.locator("#matrix tbody a").first.click()
        tab.wait_for_selector("#map svg polyline", timeout=60_000)
        world_s.append(time.perf_counter() - began_s)
        tab.close()
    browser.close()
    return (
        f"opened in {statistics.median(page_s):.2f} s (slowest {max(page_s):.2f}), "
        f"a world in {statistics.median(world_s):.2f} s"
    )


if __name__ == "__main__":
    main()
