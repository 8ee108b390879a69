"""Print the results of a campaign, or write HTML, CSV or plots.

The report of a running campaign contains the finished trials.

example:
  gz_testauto report results/paper --html paper.html
  gz_testauto report results/paper --csv paper.csv --plots plots
"""

import argparse
import contextlib
import sys
from pathlib import Path

from gz_testauto.analysis.early_stop import early_stop
from gz_testauto.analysis.overview import analyze
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.escaping import escape_text
from gz_testauto.cli.multiply import WorldCounter
from gz_testauto.cli.workers import processors, worker_count
from gz_testauto.report.export import to_csv, to_json
from gz_testauto.report.latex import to_latex
from gz_testauto.report.table import print_report
from gz_testauto.results.directory import CampaignDirectory, write_atomically
from gz_testauto.results.records import CampaignResults
from gz_testauto.results.store import ResultStore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments."""
    parser.add_argument("directory", type=Path, help="results directory of a campaign")
    parser.add_argument(
        "--csv",
        metavar="FILE",
        help="write one row per trial as CSV; - prints the CSV instead of the table",
    )
    parser.add_argument(
        "--html",
        type=Path,
        metavar="FILE",
        help="write one HTML page with all results, as a campaign does at its end",
    )
    parser.add_argument(
        "--serve",
        action="store_true",
        help="serve the page to browsers on this machine, with live updates, until Ctrl-C",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=8000,
        help="port for --serve; 0 selects a free port (default: %(default)s)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print all results as JSON instead of the table"
    )
    parser.add_argument(
        "--plots",
        type=Path,
        metavar="DIR",
        help="plot every world with the trajectories of all planners (requires matplotlib)",
    )
    parser.add_argument(
        "--workers",
        type=worker_count,
        default=processors(),
        metavar="N",
        help="number of processes for plots (default: number of processors, here %(default)s)",
    )
    parser.add_argument(
        "--figures",
        type=Path,
        metavar="DIR",
        help="plot success rates, their differences, and success over difficulty, sized for one "
        "column of a paper (requires matplotlib)",
    )
    parser.add_argument(
        "--format",
        choices=("png", "svg", "pdf"),
        default="png",
        help="file format of plots and figures (default: %(default)s)",
    )
    parser.add_argument(
        "--latex",
        type=Path,
        metavar="FILE",
        help="write the tables with intervals and notes in LaTeX (booktabs)",
    )
    parser.add_argument(
        "--complete",
        action="store_true",
        help="exit with status 1 if trials are unfinished or invalid; trials that an early stop "
        "omitted do not count",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print and write the report; return 1 if ``--complete`` is set and the campaign is
    incomplete.
    """
    if arguments.serve:
        return _serve(arguments.directory, arguments.port)
    directory = CampaignDirectory(arguments.directory)
    with ResultStore.read(directory) as store:
        results = store.results()
    if arguments.csv == "-":
        text = to_csv(results)
        sys.stdout.write(escape_text(text) if sys.stdout.isatty() else text)
    elif arguments.json:
        text = to_json(analyze(results))
        sys.stdout.write(escape_text(text) if sys.stdout.isatty() else text)
    else:
        print_report(analyze(results))
    if arguments.csv and arguments.csv != "-":
        write_atomically(Path(arguments.csv), to_csv(results).encode("utf-8"))
    if arguments.html:
        from gz_testauto.report.page.page import write_page

        for problem in write_page(arguments.directory, arguments.html):
            print(f"not on the page: {escape_text(problem)}", file=sys.stderr)
        print(escape_text(str(arguments.html)), file=sys.stderr)
    if arguments.latex:
        write_atomically(arguments.latex, to_latex(analyze(results)).encode("utf-8"))
    if arguments.figures:
        from gz_testauto.report.figures import write_figures

        paths, problems = write_figures(directory, arguments.figures, arguments.format)
        for line in (*(f"not drawn: {problem}" for problem in problems), *map(str, paths)):
            print(escape_text(line), file=sys.stderr)
    if arguments.plots:
        from gz_testauto.report.plots import plot_worlds

        counter = WorldCounter() if sys.stderr.isatty() else None
        for path in plot_worlds(
            directory, arguments.plots, arguments.format, arguments.workers, counter
        ):
            print(escape_text(str(path)), file=sys.stderr)
    return int(arguments.complete and not _is_complete(results))


def _is_complete(results: CampaignResults) -> bool:
    end = early_stop(results)
    valid = sum(record.outcome.valid for record in results.trials)
    return valid >= results.planned or (end is not None and end.decided)


def _serve(directory: Path, port: int) -> int:
    from gz_testauto.report.page.server import PageServer

    try:
        server = PageServer(directory, port)
    except (OSError, OverflowError) as error:
        raise ResultsError(
            f"--port is {port}, which cannot be used: {error}; use a different port"
        ) from (error)
    with server:
        print(f"serving {server.url} until Ctrl-C", file=sys.stderr, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
    return 0
