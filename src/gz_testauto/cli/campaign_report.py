"""Print the results of a campaign, and write the files that options of ``report`` request."""

import argparse
import contextlib
import sys
from functools import partial
from pathlib import Path
from typing import Iterable

from gz_testauto.analysis.early_stop import early_stop
from gz_testauto.analysis.overview import Analysis, analyze
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.escaping import escape_text
from gz_testauto.cli.outputs import print_text, write_outputs
from gz_testauto.report.export import to_csv, to_json
from gz_testauto.report.sections import print_sections
from gz_testauto.report.sources import Source
from gz_testauto.report.table import print_report
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.judged_corpus import read_judged_corpus
from gz_testauto.results.opened import OpenedResults, open_results
from gz_testauto.results.records import CampaignResults
from gz_testauto.results.store import ResultStore


def report_campaign(arguments: argparse.Namespace) -> int:
    with open_results(arguments.directory) as opened_results:
        return _report(opened_results, arguments)


def _report(opened_results: OpenedResults, arguments: argparse.Namespace) -> int:
    if arguments.serve:
        return _serve(opened_results, arguments.port)
    with ResultStore.read(CampaignDirectory(opened_results.path)) as store:
        results = store.results()
    analysis = analyze(results)
    if arguments.csv == "-":
        print_text(to_csv(results))
    elif arguments.json:
        print_text(to_json(analysis))
    else:
        print_report(analysis)
        _print_corpus(opened_results)
        print_sections(opened_results.path, results)
    sources = [Source.of(opened_results, results.planners)]
    write_outputs(arguments, sources, analysis, partial(_write_page, opened_results, analysis))
    if arguments.animate:
        _animate(results, sources[0], *arguments.animate)
    return int(arguments.complete and not _is_complete(results))


def _print_corpus(opened_results: OpenedResults) -> None:
    corpus = read_judged_corpus(opened_results.path)
    if corpus is None:
        return
    failed = [world for world in corpus.worlds if world.verdict != "passed"]
    print(
        f"\nRegression corpus {escape_text(corpus.directory)}, not part of the numbers above: "
        f"{len(corpus.worlds) - len(failed)} of {len(corpus.worlds)} trials passed"
    )
    for world in failed:
        trial = ", ".join(filter(None, (world.outcome, world.detail)))
        print(escape_text(f"  {world.verdict}: {world.world} {world.planner}: {trial}"))


def _write_page(opened_results: OpenedResults, analysis: Analysis, out: Path) -> Iterable[str]:
    from gz_testauto.report.page.page import write_page

    return write_page(opened_results, out, analysis)


def _animate(results: CampaignResults, source: Source, world: str, file: str) -> None:
    from gz_testauto.campaign.selection import valid_trials
    from gz_testauto.report.animation import write_animation

    write_animation(source, valid_trials(results, [world]), results.planners, Path(file))
    print(escape_text(file), file=sys.stderr)


def _is_complete(results: CampaignResults) -> bool:
    end = early_stop(results)
    valid = sum(record.outcome.valid for record in results.trials)
    return valid >= results.planned or (end is not None and end.decided)


def _serve(opened_results: OpenedResults, port: int) -> int:
    from gz_testauto.report.page.server import PageServer

    try:
        server = PageServer(opened_results, port)
    except (OSError, OverflowError) as error:
        raise ResultsError(
            f"--port is {port}, which cannot be used: {error}; use a different port"
        ) from error
    with server:
        print(f"serving {server.url} until Ctrl-C", file=sys.stderr, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
    return 0
