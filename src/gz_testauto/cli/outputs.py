"""Write the files of a report: HTML, CSV, LaTeX, figures and plots."""

import argparse
import sys
from pathlib import Path
from typing import Callable, Iterable, Mapping, Optional, Sequence

from gz_testauto.analysis.overview import Analysis
from gz_testauto.base.escaping import escape_text
from gz_testauto.report.export import to_csv
from gz_testauto.report.latex import to_latex
from gz_testauto.report.sources import Source
from gz_testauto.results.directory import write_atomically


def print_text(text: str) -> None:
    """Write to standard output, with control characters escaped for a terminal."""
    sys.stdout.write(escape_text(text) if sys.stdout.isatty() else text)


def write_outputs(
    arguments: argparse.Namespace,
    sources: Sequence[Source],
    analysis: Analysis,
    write_html: Callable[[Path], Iterable[str]],
    campaigns: Optional[Mapping[str, str]] = None,
) -> None:
    """Write the files that the options of :mod:`~gz_testauto.cli.output_options` request.
    ``write_html`` writes the page and returns its missing parts. ``campaigns`` maps planners to
    campaigns, for a column of the CSV."""
    results = analysis.results
    if arguments.csv and arguments.csv != "-":
        write_atomically(Path(arguments.csv), to_csv(results, campaigns).encode("utf-8"))
    if arguments.html:
        for problem in write_html(arguments.html):
            _print_line(f"not on the page: {problem}")
        _print_line(str(arguments.html))
    if arguments.latex:
        write_atomically(arguments.latex, to_latex(analysis).encode("utf-8"))
    if arguments.figures:
        from gz_testauto.report.figures import write_figures

        paths, problems = write_figures(
            sources[0].directory, analysis, arguments.figures, arguments.format
        )
        for line in (*(f"not drawn: {problem}" for problem in problems), *map(str, paths)):
            _print_line(line)
    if arguments.plots:
        from gz_testauto.cli.multiply import WorldCounter
        from gz_testauto.report.plots import plot_worlds

        counter = WorldCounter() if sys.stderr.isatty() else None
        for path in plot_worlds(
            sources, results, arguments.plots, arguments.format, arguments.workers, counter
        ):
            _print_line(str(path))


def _print_line(text: str) -> None:
    print(escape_text(text), file=sys.stderr)
