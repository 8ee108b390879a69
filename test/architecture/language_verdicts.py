"""Verdicts that the command line prints for random results, for readers to judge."""

import contextlib
import html
import io
import random
import re
import tempfile
from pathlib import Path
from typing import Iterator, Set

from table_results import store_table

from gz_testauto.cli.main import main

OUTCOMES = ("collided", "timed_out", "stuck")
SUCCESS_RATES = {"fgm": 0.7, "dwa": 0.75, "vfh": 0.9}


def random_table(draw: random.Random, worlds: int, shift: float) -> str:
    """Return trials of three planners as CSV; ``shift`` is added to each success rate."""
    lines = ["world,planner,outcome,distance_m,time_s,clearance_min_m"]
    for world in range(worlds):
        easy = draw.random()
        for planner, rate in SUCCESS_RATES.items():
            reached = 0.5 * easy + 0.5 * draw.random() < rate + shift
            outcome = "reached" if reached else draw.choice(OUTCOMES)
            length_m = draw.gauss(30.0 + len(planner), 2.0)
            gap_m = abs(draw.gauss(0.3, 0.1))
            lines.append(
                f"w{world:03d},{planner},{outcome},{length_m:.2f},{length_m:.1f},{gap_m:.2f}"
            )
    return "\n".join(lines) + "\n"


def printed(arguments: list) -> str:
    """Return the standard output of a command with any exit status."""
    output = io.StringIO()
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(output))
        stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        stack.enter_context(contextlib.suppress(SystemExit))
        main([str(argument) for argument in arguments])
    return output.getvalue()


def outputs(folder: Path, draw: random.Random) -> Iterator[str]:
    """Yield what report, compare, gate, page and LaTeX contain for two random campaigns."""
    for worlds in (40, 150):
        directories = [folder / f"before_{worlds}", folder / f"after_{worlds}"]
        for directory, shift in zip(directories, (0.0, draw.choice((-0.3, -0.02, 0.05)))):
            store_table(random_table(draw, worlds, shift), directory)
        before, after = directories
        page, tables = folder / "page.html", folder / "tables.tex"
        yield printed(["report", after])
        printed(["report", after, "--html", page, "--latex", tables])
        text = re.sub(r"<(script|style).*?</\1>", " ", page.read_text("utf-8"), flags=re.DOTALL)
        yield html.unescape(re.sub(r"<[^>]+>", "\n", text))
        yield tables.read_text("utf-8")
        yield printed(["compare", before, after])
        yield printed(["gate", after, "--baseline", before, "--metric", "time_s:2"])
        yield printed(["gate", after, "--min-success", "0.8"])


def verdict_sentences(seed: int) -> Set[str]:
    """Return each sentence of the outputs that names a planner and contains a number."""
    found: Set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        for output in outputs(Path(folder), random.Random(seed)):
            # A row of a table has gaps, a heading ends with "with both". A sentence continues
            # until a line ends with a full stop.
            lines = [
                line for line in output.splitlines() if not re.search(r"\S {3,}\S|with both$", line)
            ]
            text = re.sub(
                r"(?<![.:;)\n])\n(?=\S)(?!\\|PASSED|FAILED|UNDECIDED)", " ", "\n".join(lines)
            )
            for block in text.splitlines():
                sentence = " ".join(block.split())
                named = any(re.search(rf"\b{planner}\b", sentence) for planner in SUCCESS_RATES)
                if named and re.search(r"\d.*\.$|^(PASSED|FAILED|UNDECIDED)", sentence):
                    found.add(sentence[:400])
    return found
