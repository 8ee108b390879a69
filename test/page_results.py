"""A results directory for the page, also with names that contain markup; a parsed page."""

import dataclasses
import html.parser
import math

from scripted import record, short_recording

from gz_testauto.metrics.interface import builtin_metrics
from gz_testauto.metrics.recording import ContactEpisode
from gz_testauto.report.page.page import PageMaker
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.manifest import Manifest
from gz_testauto.results.opened import OpenedResults
from gz_testauto.results.store import ResultStore
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.record import WorldRecord

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;{{7*7}}"


class Parsed(html.parser.HTMLParser):
    """Elements with their attributes, the text outside of scripts, and scripts by their id."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.text, self._script = [], {}, "", None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag in ("script", "style"):
            self._script = dict(attributes).get("id", tag)
            self.scripts[self._script] = ""

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self._script = None

    def handle_data(self, data):
        if self._script is None:
            self.text += data
        else:
            self.scripts[self._script] += data


def make_page(directory):
    """Return the page of a results directory, without links to files."""
    return PageMaker(OpenedResults(directory)).make()


def results(
    out,
    worlds=("world_0000", "world_0001"),
    planners=("fgm", "dwa"),
    name="paper",
    stop=None,
    later=(),
):
    """Write a results directory without campaign: planner 0 reaches every goal, the others none.
    With ``stop`` all worlds except ``later`` are judged."""
    directory = CampaignDirectory(out)
    out.mkdir()
    source = out / "trials.csv"
    source.write_text("")
    Manifest.imported(name, source, "simulator 1").write(directory)
    named = enumerate((*worlds, *later))
    records = [WorldRecord(i, world, out / "no.world", f"{i}") for i, world in named]
    count = len(planners) * len(records)
    with ResultStore.create(directory, name, planners, records, count, stop) as store:
        store.declare(builtin_metrics())
        for at, world in enumerate(worlds):
            for planner in planners:
                number = at * len(planners) + planners.index(planner)
                won = planner == planners[0]
                touched = ContactEpisode(1.0, 1.2, f"box {HOSTILE}", 0.5, "contact")
                store.finish(
                    record(
                        number,
                        world=world,
                        world_index=at,
                        planner=planner,
                        outcome=Outcome.REACHED if won else Outcome.COLLIDED,
                        trajectory=f"{number}.npz",
                        metrics={"distance_m": 3.0 + at, "spl": float(won), "time_s": math.nan},
                    ),
                    dataclasses.replace(short_recording(won), contacts=() if won else (touched,)),
                )
            if stop is not None:
                store.judge(world)
    return out
