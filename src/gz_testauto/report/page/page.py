"""Create the HTML page of a results directory as one file. The same results give an identical file.

Its content security policy allows only the script and style of this package, by their hashes.
Content from the results directory is escaped text or JSON.
"""

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple
from urllib.parse import quote

import numpy as np

from gz_testauto import __version__
from gz_testauto.analysis.across import PairedCampaigns
from gz_testauto.analysis.overview import Analysis, analyze
from gz_testauto.analysis.summary import failures
from gz_testauto.base.errors import GzTestautoError, ResultsError
from gz_testauto.campaign.resume import read_campaign
from gz_testauto.report.compared import ComparisonSummary, compared_campaigns
from gz_testauto.report.names import arrows_text
from gz_testauto.report.notes import caveats, overall_notes, running_notes
from gz_testauto.report.page import content, data
from gz_testauto.report.page.campaign_map import campaign_map, filter_style
from gz_testauto.report.page.difficulty import SHORTEST_PATH, figures_of_worlds, success_curves
from gz_testauto.report.page.encoding import tolerances_text
from gz_testauto.report.page.rendering import content_hash, template
from gz_testauto.report.page.setup import length_note, planner_rows, setup
from gz_testauto.report.page.worlds import WorldContext, WorldsDrawer
from gz_testauto.report.rows import has_lanes, measured_metrics
from gz_testauto.report.sections import read_sections
from gz_testauto.report.sources import Source, recordings, source_of
from gz_testauto.results.directory import (
    LOCK_NAME,
    PAGE,
    CampaignDirectory,
    write_atomically,
)
from gz_testauto.results.judged_corpus import read_judged_corpus
from gz_testauto.results.manifest import Manifest
from gz_testauto.results.opened import OpenedResults
from gz_testauto.results.records import CampaignResults, TrialRecord
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.trial.trial import trial_label

MOST_DRAWN = 500  # largest number of worlds that the page at the end of a campaign draws

_HERE = Path(__file__).resolve().parent
_STYLES = ("uplot/uPlot.min.css", "page.css")
_SCRIPTS = ("uplot/uPlot.iife.min.js", "charts.js", "world.js", "page.js")
_TEMPLATE = "page.html.jinja"


@dataclass(frozen=True)
class Page:
    """A page: its HTML text, and one line per part that is missing, with the reason."""

    html: str
    problems: Tuple[str, ...]


def write_page(
    results: OpenedResults,
    out: Path,
    analysis: Optional[Analysis] = None,
    most_drawn: Optional[int] = None,
) -> Tuple[str, ...]:
    """Write the page of results to ``out``; return one line per missing part. ``most_drawn`` is
    that of :class:`PageMaker`."""
    page = PageMaker(results, out.parent, most_drawn=most_drawn).make(analysis)
    write_atomically(out, page.html.encode("utf-8"))
    return page.problems


def write_final_page(directory: Path) -> Tuple[str, ...]:
    """Write :data:`PAGE` at the end of a campaign, unless the existing page is current. Return one
    line per missing part, or the reason why no page was written."""
    page = directory / PAGE
    problems: Tuple[str, ...] = ()
    if not _is_newest(page):
        try:
            problems = write_page(OpenedResults(directory), page, most_drawn=MOST_DRAWN)
        except GzTestautoError as error:
            return (f"no page was written: {error}",)
    return (*(f"not on the page: {problem}" for problem in problems), f"page: {page}")


def _is_newest(page: Path) -> bool:
    """Return True if the page is newer than all other files of its directory except the lock, and
    than the last removal of a file from a subdirectory."""
    if not page.is_file():
        return False
    written_ns = page.stat().st_mtime_ns
    for folder, folder_names, file_names in os.walk(page.parent):
        for name in (*folder_names, *file_names):
            path = os.path.join(folder, name)
            is_other = name not in (PAGE, LOCK_NAME)
            if is_other and os.stat(path, follow_symlinks=False).st_mtime_ns >= written_ns:
                return False
    return True


def write_comparison_page(
    sources: Sequence[Source], across: PairedCampaigns, out: Path
) -> List[str]:
    """Write the page of several campaigns; return one line per missing part."""
    maker = PageMaker(OpenedResults(sources[0].directory.path), out.parent)
    analysis = analyze(across.results, across.pairs)
    page = maker.make_of(sources, analysis, compared_campaigns(across))
    write_atomically(out, page.html.encode("utf-8"))
    return list(page.problems)


class PageMaker:
    """A generator of the page of one results directory, which caches the data of finished trials.

    Links to logs and bags are relative to ``page_directory``. A ``live`` page shows running trials
    and polls its server for new results. ``most_drawn`` is the largest number of drawn worlds.
    """

    def __init__(
        self,
        opened: OpenedResults,
        page_directory: Optional[Path] = None,
        live: bool = False,
        most_drawn: Optional[int] = None,
    ) -> None:
        self._results = opened
        self._page_directory = page_directory
        self._live = live
        self._most_drawn = most_drawn
        self._surroundings: Optional[WorldContext] = None
        self._drawer: Optional[WorldsDrawer] = None

    def make(self, analysis: Optional[Analysis] = None) -> Page:
        if analysis is None:
            with ResultStore.read(CampaignDirectory(self._results.path)) as store:
                analysis = analyze(store.results())
        return self.make_of([Source.of(self._results, analysis.results.planners)], analysis)

    def make_of(
        self,
        sources: Sequence[Source],
        analysis: Analysis,
        compared: Optional[ComparisonSummary] = None,
    ) -> Page:
        """Return the page, with the worlds and the robot of the first source."""
        results, place = analysis.results, sources[0].directory
        problems: List[str] = []
        manifests = [_read_manifest(source.directory, problems) for source in sources]
        imported_flags = [manifest is not None and manifest.is_imported for manifest in manifests]
        if self._surroundings is None or self._drawer is None:
            self._surroundings = WorldContext.of(place, results.worlds, imported_flags[0])
            self._drawer = WorldsDrawer(self._surroundings, self._most_drawn)
        with recordings(sources) as read_recording:
            worlds = self._drawer.draw(read_recording, results.worlds, results.trials)
        records = {record.trial: record for record in results.trials}
        files = files_of_trials(sources, self._page_directory)
        for world in worlds:
            for trial in world["trials"]:
                record = records[trial["trial"]]
                trial.update(data.trial_block(record, analysis), files=files(record))
        spec = self._surroundings.spec
        figures = figures_of_worlds(place, spec, results.worlds, problems)
        curves_of_figures = {
            figure: success_curves(results, values) for figure, values in figures.items()
        }
        footprint = self._surroundings.footprint_m
        block = data.campaign_block(
            analysis,
            self._drawer.shapes,
            None if footprint is None else footprint.round(3).tolist(),
            figures,
            curves_of_figures,
            data.replays(results.planners, sources, imported_flags),
        )
        problems += self._surroundings.problems
        omitted_count = sum("omitted" in world for world in worlds)
        if omitted_count:
            problems.append(
                f"pictures of {omitted_count} of {len(worlds)} worlds; gz_testauto report DIR "
                "--html FILE draws all worlds"
            )
        sections = read_sections(place.path, results, problems) if compared is None else []
        marks = {trial: word for section in sections for trial, word in section.marks.items()}
        html = _render_page(
            self._live,
            name=results.name,
            version=__version__,
            compared=compared,
            heading=content.heading(results),
            ranking=content.ranking(analysis),
            running=_running_lines(results) if self._live else [],
            problems=problems,
            imported=any(imported_flags),
            planners=results.planners,
            setup=_setup_rows(sources, manifests, spec, footprint),
            arrows=arrows_text(measured_metrics(analysis)),
            length_note=length_note(spec) if SHORTEST_PATH in figures else "",
            overall=list(map(str, overall_notes(analysis))),
            verdicts=content.verdicts(analysis),
            ended_as=[outcome.label for outcome in failures(analysis.summaries)],
            rates=content.rates(analysis),
            has_lanes=has_lanes(analysis.summaries),
            rate_notes=list(map(str, caveats(analysis))),
            means=content.means(analysis),
            figures=list(figures),
            campaign_map=campaign_map(results, worlds, self._drawer.shapes),
            matrix=content.matrix(analysis, figures, marks),
            differences=content.differences(analysis),
            slopes=content.slopes(results, curves_of_figures),
            invalid=content.invalid(results),
            sections=sections,
            corpus=_read_corpus(place, problems) if compared is None else None,
            reproductions=[
                (source.label, content.reproduction(manifest, source.typed, source.is_packed))
                for source, manifest in zip(sources, manifests)
            ],
            hashes=content.hashes(results),
            methods=content.methods(analysis),
            legend=content.legend(),
            crash_labels=content.crash_labels(),
            tolerances=tolerances_text(),
            campaign_block=_json({**block, "live": self._live}),
            world_blocks=[_json(world) for world in worlds],
        )
        return Page(html, tuple(problems))


def _setup_rows(
    sources: Sequence[Source],
    manifests: Sequence[Optional[Manifest]],
    spec: Optional[CampaignSpec],
    footprint_m: Optional[np.ndarray],
) -> List[Tuple[str, str]]:
    rows = setup(spec, footprint_m)
    for source, manifest in zip(sources, manifests):
        if manifest is None or manifest.is_imported:
            continue
        with contextlib.suppress(GzTestautoError):  # the first one is listed as missing
            source_spec = spec if source is sources[0] else read_campaign(source.directory)[0]
            rows += planner_rows(source_spec, source, manifest.inputs)
    return rows


def _running_lines(results: CampaignResults) -> List[str]:
    lines = [line for note in running_notes(results) for line in (note.text, *note.items)]
    return lines or ["No process runs this campaign now."]


def _read_manifest(place: CampaignDirectory, problems: List[str]) -> Optional[Manifest]:
    try:
        return Manifest.read(place)
    except ResultsError as error:
        problems.append(f"versions and inputs are unknown: {error}")
        return None


def _read_corpus(place: CampaignDirectory, problems: List[str]) -> Optional[Dict[str, Any]]:
    try:
        judged_corpus = read_judged_corpus(place.path)
    except ResultsError as error:
        problems.append(f"the regression corpus is unknown: {error}")
        return None
    return None if judged_corpus is None else content.corpus(judged_corpus)


def _render_page(live: bool, **values: Any) -> str:
    generated_styles = (content.outcome_style(), filter_style(values["campaign_map"]))
    style = "\n".join((*(_read_asset(name) for name in _STYLES), *generated_styles))
    script = "\n".join(_read_asset(name) for name in _SCRIPTS)
    policy = (
        f"default-src 'none'; script-src {content_hash(script)}; style-src {content_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    if live:
        policy += "; connect-src 'self'"
    return template(_HERE / _TEMPLATE).render(
        policy=policy,
        style=style,
        script=script,
        uplot_license=_read_asset("uplot/LICENSE"),
        **values,
    )


def _read_asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8").strip()


def _json(value: Any) -> str:
    """Return JSON text that cannot close the script element in which it is embedded."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def files_of_trials(
    sources: Sequence[Source], page_directory: Optional[Path]
) -> Callable[[TrialRecord], Dict[str, str]]:
    """Return a function that returns links to the ``logs`` of a trial's last attempt and to its
    ``bag``, relative to ``page_directory``. It returns no links for missing files and packs, and if
    ``page_directory`` is None."""
    if page_directory is None:
        return lambda record: {}
    start = page_directory.absolute()
    logs = {source.label: source.directory.log_directories() for source in sources}

    def files(record: TrialRecord) -> Dict[str, str]:
        source = source_of(sources, record.planner)
        if source.is_packed:  # a temporary copy
            return {}
        world = source.worlds.get(record.world, record.world)
        label = trial_label(world, source.planners[record.planner], record.repetition)
        bag = source.directory.path / "bags" / f"{label}.bag"
        paths = {"logs": logs[source.label].get(label), "bag": bag if bag.is_file() else None}
        return {
            name: quote(Path(os.path.relpath(path, start)).as_posix())
            for name, path in paths.items()
            if path is not None
        }

    return files
