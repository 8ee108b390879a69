"""Describe the campaigns of a comparison for the terminal and the page."""

from dataclasses import dataclass
from typing import Iterator, Tuple

from gz_testauto.analysis.across import ComparedCampaign, PairedCampaigns
from gz_testauto.base.truncation import join_truncated
from gz_testauto.report.notes import Note
from gz_testauto.report.plain import count_text

SHOWN = 8
COLUMNS = ("directory", "campaign", "trials", "worlds", "compared", "simulator")


@dataclass(frozen=True)
class ComparisonSummary:
    columns: Tuple[str, ...]
    rows: Tuple[Tuple[str, ...], ...]
    notes: Tuple[Note, ...]


def compared_campaigns(across: PairedCampaigns) -> ComparisonSummary:
    return ComparisonSummary(COLUMNS, tuple(map(_row, across.sides)), tuple(_notes(across)))


def _row(side: ComparedCampaign) -> Tuple[str, ...]:
    return (
        side.label,
        side.campaign,
        f"{side.finished} of {side.planned}",
        str(side.worlds),
        "left out" if side.left_out else str(side.common),
        side.simulator or "-",
    )


def _notes(across: PairedCampaigns) -> Iterator[Note]:
    first = across.sides[0]
    for side in across.sides:
        if side.reasons:
            fault = "is not comparable" if side.left_out else "compared although it differs"
            hidden_count = len(side.reasons) - SHOWN
            yield Note(
                f"{side.label}: {fault} (values of {first.label}, and {side.label}):",
                (
                    *side.reasons[:SHOWN],
                    *([f"and {hidden_count} more"] if hidden_count > 0 else []),
                ),
            )
        for note in side.notes:
            yield Note(f"{side.label}: {note}." if side is not first else f"{note}.")
    for label, worlds in across.only.items():
        if worlds:
            noun = count_text(len(worlds), "world")
            yield Note(
                f"With trials only in {label}, not compared: {noun}",
                (join_truncated(worlds, SHOWN),),
            )
