"""Results directories that tests write from tables of trials, without campaign and recordings."""

import collections
import csv
import io
import math

from scripted import record

from gz_testauto.metrics.interface import METRICS, builtin_metrics
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.manifest import Manifest
from gz_testauto.results.records import AttemptRecord
from gz_testauto.results.store import ResultStore
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.manifest import file_record
from gz_testauto.worlds.record import WorldRecord


def store_table(text, out, world_files=None, stop=None, judged=()):
    """Write a CSV table with one row per trial into the new directory ``out``; return ``out``.

    The columns are world, planner, outcome, and optionally repetition, detail and metrics. The hash
    of each world is that of its file in the folder ``world_files``. ``judged`` are the worlds that
    the early stop ``stop`` has evaluated.
    """
    source = out.with_suffix(".csv")
    source.write_text(text, "utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    places = {name: at for at, name in enumerate(dict.fromkeys(row["world"] for row in rows))}
    counted = collections.Counter()
    for row in rows:
        pair = row["world"], row["planner"]
        row.setdefault("repetition", counted[pair])
        counted[pair] += 1
    rows.sort(key=lambda row: (places[row["world"]], int(row["repetition"])))
    records = [
        record(
            number,
            world=row["world"],
            world_index=places[row["world"]],
            planner=row["planner"],
            repetition=int(row["repetition"]),
            outcome=Outcome(row["outcome"]),
            detail=row.get("detail", ""),
            trajectory="",
            metrics=_metrics(row),
        )
        for number, row in enumerate(rows)
    ]
    worlds = [
        WorldRecord(at, name, out / f"{name}.world", "")
        if world_files is None
        else file_record(at, path := world_files / f"{name}.world", path.read_bytes())
        for name, at in places.items()
    ]
    directory = CampaignDirectory(out)
    out.mkdir()
    Manifest.imported(out.name, source).write(directory)
    planners = list(dict.fromkeys(one.planner for one in records))
    with ResultStore.create(directory, out.name, planners, worlds, len(records), stop) as store:
        store.declare(builtin_metrics())
        store.finish_all(records)
        for world in judged:
            store.judge(world)
        for one in records:
            if not one.outcome.valid:
                cause = one.detail or "invalid"
                store.add_invalid_attempt(AttemptRecord(one.trial, 1, cause, 0.0, ""))
    return out


def _metrics(row):
    if not Outcome(row["outcome"]).valid:
        return {}
    return {name: float(row[name] or math.nan) for name in METRICS.names() if name in row}
