"""Convert results of other software into a results directory.

The file has one row per trial with the columns world, planner and outcome, and optionally
repetition, detail and metrics. Options set different names of columns. Columns with names of
metrics of this package are imported; --metric imports further columns. A file .json, .jsonl or
.ndjson contains one object per trial, whose fields are the columns.

examples:
  gz_testauto import trials.csv --out results/theirs
  gz_testauto import dwa_out.txt --out results/dwa --delimiter space \\
      --header world,reached,collided,timeout,time,score --planner-name dwa \\
      --outcome-column reached=reached --outcome-column collided=collided \\
      --outcome-column timeout=timed_out \\
      --metric time=time_s

  then  gz_testauto report results/theirs
"""

import argparse
import re
import sys
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from gz_testauto.base.errors import SpecError
from gz_testauto.base.escaping import escape_text
from gz_testauto.base.registry import unknown_name
from gz_testauto.extras.import_results.imported import Columns, read_trials, write_imported
from gz_testauto.metrics.interface import BETTER, METRICS, Metric
from gz_testauto.report.plain import count_text
from gz_testauto.spec.stack import NAME, is_reserved
from gz_testauto.trial.outcome import Outcome

GROUP = ("results", 1)
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": " "}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trials", type=Path, help="table with one row per trial (CSV or JSON)")
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="results directory to create; it must not exist, or be empty",
    )
    parser.add_argument(
        "--name", default="", help="name of the campaign (default: name of the table's file)"
    )
    parser.add_argument(
        "--simulator",
        default="",
        metavar="TEXT",
        help="name and version of the simulator that ran the trials",
    )
    parser.add_argument(
        "--world-files",
        type=Path,
        metavar="DIR",
        help="folder with WORLD.world of each world, for comparisons with other results",
    )
    columns = parser.add_argument_group("columns")
    for name in ("world", "planner", "outcome", "repetition"):
        columns.add_argument(
            f"--{name}", default=name, metavar="COLUMN", help=f"column of the {name}"
        )
    columns.add_argument(
        "--planner-name",
        default="",
        metavar="NAME",
        help="name of the planner, if no column contains it",
    )
    columns.add_argument(
        "--outcome-word",
        action="append",
        default=[],
        metavar="WORD=OUTCOME",
        help="outcome that a word in the outcome column stands for; repeatable",
    )
    columns.add_argument(
        "--outcome-column",
        action="append",
        default=[],
        metavar="COLUMN=OUTCOME",
        help="column that contains 1 for trials with this outcome and 0 otherwise; replaces the "
        "outcome column; repeatable",
    )
    columns.add_argument(
        "--precedence",
        default="",
        metavar="COLUMN,...",
        help="outcome columns in the order that applies if several of them contain 1",
    )
    columns.add_argument(
        "--otherwise",
        default="",
        metavar="OUTCOME",
        help="outcome of trials for which no outcome column contains 1",
    )
    columns.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="COLUMN[=NAME[:BETTER]]",
        help="column with a metric; BETTER is lower, higher or neither; repeatable",
    )
    columns.add_argument(
        "--header",
        default="",
        metavar="A,B,...",
        help="names of the columns, if the file has no header",
    )
    columns.add_argument(
        "--delimiter",
        choices=sorted(DELIMITERS),
        default="comma",
        help="separator of cells (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    mapped, metrics = _metrics(arguments.metric)
    flags = _outcomes_by_word("--outcome-column", arguments.outcome_column)
    columns = Columns(
        world=arguments.world,
        planner=arguments.planner,
        outcome=arguments.outcome,
        repetition=arguments.repetition,
        planner_name=arguments.planner_name,
        header=_names(arguments.header),
        delimiter=DELIMITERS[arguments.delimiter],
        words=_outcomes_by_word("--outcome-word", arguments.outcome_word),
        flags=flags,
        precedence=_precedence(_names(arguments.precedence), flags),
        otherwise=_otherwise(arguments.otherwise, flags),
        metrics=mapped,
    )
    table = read_trials(arguments.trials, columns)
    write_imported(
        table,
        arguments.trials,
        arguments.out,
        name=arguments.name or arguments.trials.stem,
        simulator=arguments.simulator,
        world_files=arguments.world_files,
        metrics=metrics,
    )
    if table.ignored:
        print(escape_text(f"ignored columns: {', '.join(table.ignored)}"), file=sys.stderr)
    if table.copies:
        print(
            escape_text(
                f"{arguments.trials}:{table.copies[0]}: equals an earlier line in all columns, as "
                f"{len(table.copies)} of {count_text(len(table.rows), 'line')} do; if they are "
                "copies, and not repetitions, remove them"
            ),
            file=sys.stderr,
        )
    worlds = len({row.world for row in table.rows})
    print(f"results: {arguments.out}, {len(table.rows)} trials in {worlds} worlds", file=sys.stderr)
    return 0


def _outcomes_by_word(option: str, texts: Sequence[str]) -> Dict[str, Outcome]:
    outcomes = {}
    for text in texts:
        word, _, name = text.rpartition("=")
        if not word:
            raise SpecError(f"{option} {text!r}: use the form NAME=OUTCOME")
        outcomes[word] = _outcome(f"{option} {text!r}", name)
    return outcomes


def _outcome(where: str, name: str) -> Outcome:
    known = {outcome.value: outcome for outcome in Outcome}
    if name not in known:
        raise SpecError(f"{where}: {unknown_name('outcome', name, known)}")
    return known[name]


def _precedence(names: Tuple[str, ...], flags: Mapping[str, Outcome]) -> Tuple[str, ...]:
    for name in names:
        if name not in flags:
            raise SpecError(f"--precedence: {unknown_name('outcome column', name, flags)}")
    return names


def _otherwise(name: str, flags: Mapping[str, Outcome]) -> Optional[Outcome]:
    if name and not flags:
        raise SpecError("--otherwise applies to outcome columns; add --outcome-column")
    return _outcome("--otherwise", name) if name else None


def _names(text: str) -> Tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in text.split(","))))


def _metrics(texts: Sequence[str]) -> Tuple[Dict[str, str], List[Metric]]:
    """Return the names of the metrics by column, and the metrics that this package does not
    define."""
    mapped: Dict[str, str] = {}
    new_metrics = []
    for text in texts:
        column, _, named = text.rpartition("=") if "=" in text else (text, "", text)
        name, _, better = named.partition(":")
        column = column if "=" in text else name
        if name in mapped.values():
            raise SpecError(f"--metric {text!r}: {name} appears twice")
        mapped[column] = name
        if name in METRICS.names():
            continue
        if not re.match(NAME, name):
            raise SpecError(
                f"--metric {text!r}: {name!r} is not a valid name; use COLUMN=NAME with a name of "
                "letters, digits and _"
            )
        if is_reserved(name):
            raise SpecError(
                f"--metric {text!r}: {name!r} is the name of a column of the results; use "
                f"COLUMN=NAME with another name, such as {column}=own_{name}"
            )
        if better not in ("", *BETTER):
            raise SpecError(f"--metric {text!r}: {better!r} is invalid; use {', '.join(BETTER)}")
        new_metrics.append(
            Metric(
                name=name,
                better=better or "neither",
                completed_only=True,
                in_table=True,
                in_comparison=True,
                description=f"as imported from {column}",
            )
        )
    return mapped, new_metrics
