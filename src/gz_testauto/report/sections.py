"""Further sections of a report, which extras compute and store in a results directory.

A plug-in of :data:`SECTIONS` is a function of the results directory and its results. It returns a
:class:`Section`, or None if the directory has no data for it, and raises ``ResultsError`` if they
are damaged.
"""

import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import List, Mapping, Optional, Tuple

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.escaping import escape_all_texts, escape_text
from gz_testauto.base.registry import Registry
from gz_testauto.report.plain import WIDTH, plain_table, report_console
from gz_testauto.results.records import CampaignResults

SECTIONS = Registry("report section", {})


@dataclass(frozen=True)
class SectionTable:
    """A table of texts. The first column is aligned left, the others right."""

    caption: str
    columns: Tuple[str, ...]
    rows: Tuple[Tuple[str, ...], ...]
    on_page_only: bool = False
    """If true, the terminal omits the table."""


@dataclass(frozen=True)
class Section:
    """A section of the terminal's report and the page.

    ``marks`` maps trials, by their index in the plan, to a word that the page's table of worlds
    contains next to the outcome.
    """

    heading: str
    notes: Tuple[str, ...]
    tables: Tuple[SectionTable, ...]
    marks: Mapping[int, str] = field(default_factory=dict)

    @property
    def anchor(self) -> str:
        return "section-" + "-".join(self.heading.lower().split())


def read_sections(directory: Path, results: CampaignResults, problems: List[str]) -> List[Section]:
    """Return the sections of a results directory, and append read errors to ``problems``."""
    sections = []
    for name in SECTIONS.names():
        try:
            section: Optional[Section] = SECTIONS.get(name)(directory, results)
        except GzTestautoError as error:
            problems.append(str(error))
            continue
        if section is not None:
            sections.append(section)
    return sections


def print_sections(directory: Path, results: CampaignResults) -> None:
    """Print all sections of a results directory, and read errors to standard error."""
    problems: List[str] = []
    for section in read_sections(directory, results, problems):
        print()
        print_section(section)
    for problem in problems:
        print(escape_text(problem), file=sys.stderr)


def print_section(section: Section) -> None:
    console = report_console()
    escaped_section: Section = escape_all_texts(section)
    console.print(escaped_section.heading, style="bold")
    for table in escaped_section.tables:
        if table.on_page_only:
            continue
        if table.caption:
            console.print()
            console.print(table.caption)
        printed_table = plain_table(*table.columns)
        for row in table.rows:
            printed_table.add_row(*row)
        console.print(printed_table)
    for note in escaped_section.notes:
        console.print()
        console.print(textwrap.fill(note, WIDTH, break_on_hyphens=False))
