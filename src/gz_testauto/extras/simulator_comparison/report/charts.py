"""Charts of the HTML report, as coordinates for SVG elements in a template."""

import math
from dataclasses import dataclass
from typing import List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.extras.simulator_comparison.findings import Findings, Ranking, Spectrum
from gz_testauto.extras.simulator_comparison.measures.interface import Measure
from gz_testauto.extras.simulator_comparison.report.sentences import (
    entry_values,
    measure_title,
    measured_texts,
    number,
    reference_floor,
    score_text,
)

WIDTH, MARGIN = 200.0, 6.0  # width and margin of the chart of one value, in SVG units

LEAST_SPAN = 1e-3

PLOT = (640.0, 270.0)
FRAME = (48.0, 10.0, 630.0, 232.0)  # left, top, right and bottom edge of the plot area

DECADES = 8  # largest number of decades in the plot of a spectrum
FREQUENCIES_HZ = (0.5, 1, 2, 5, 10, 20)

COLORS = 6
DASHES = ("none", "7 3", "2 3", "9 3 2 3")  # lines differ in color first, then in dash pattern

BAR = 150.0  # longest bar on each side of the middle, in SVG units


class ChartRow(NamedTuple):
    """Texts of one entry, and positions of its value and interval in SVG units."""

    name: str
    value: str
    interval: str
    score: str
    remark: str
    at: Optional[float]
    begin: Optional[float]
    end: Optional[float]


@dataclass(frozen=True)
class Chart:
    """Chart of one measure for all entries. ``cases`` has the values of the entries by case, unless
    there is only one."""

    title: str
    measure: Measure
    rows: Sequence[ChartRow]
    low: float
    high: float
    floor: Optional[str]
    floor_at: Optional[float]
    scored: bool
    cases: Sequence[Tuple[str, Sequence[str]]]


def chart(findings: Findings, measure: Measure) -> Chart:
    measured_by_entry = entry_values(findings, measure)
    floor = reference_floor(findings, measure)
    shown = [
        value
        for measured in measured_by_entry.values()
        for value in measured.estimate[:3]
        if not measured.missing and not math.isnan(value)
    ]
    shown += [] if math.isnan(floor) else [floor]
    low, high = min([0.0, *shown]), max([*shown, LEAST_SPAN])

    def to_x(value: float) -> Optional[float]:
        if math.isnan(value):
            return None
        return round(MARGIN + (WIDTH - 2 * MARGIN) * (value - low) / (high - low), 1)

    rows = []
    for name, measured in measured_by_entry.items():
        value, interval, remark = measured_texts(measured)
        positions = (
            (None, None, None) if measured.missing else tuple(map(to_x, measured.estimate[:3]))
        )
        rows.append(
            ChartRow(name, value, interval, score_text(findings, name, measure), remark, *positions)
        )
    return Chart(
        measure_title(findings, measure),
        measure,
        rows,
        low,
        high,
        None if math.isnan(floor) else number(floor),
        to_x(floor),
        any(row.score for row in rows),
        _case_rows([measured.by_case for measured in measured_by_entry.values()]),
    )


def _case_rows(of_entries: Sequence[Mapping[str, float]]) -> List[Tuple[str, List[str]]]:
    names = list(dict.fromkeys(name for by_case in of_entries for name in by_case))
    if len(names) < 2:
        return []
    return [
        (name, [number(by_case.get(name, math.nan)) for by_case in of_entries]) for name in names
    ]


class Bar(NamedTuple):
    """Bar of a criterion in the chart of the first entry's lead over the second. ``begin`` and
    ``width`` are in SVG units. The bar points to the right if the criterion is in favor of the
    first entry."""

    criterion: str
    text: str
    begin: float
    width: float
    for_first: bool


def lead_bars(ranking: Ranking) -> List[Bar]:
    """Return a bar for each criterion that contributes to the lead, or an empty list without a
    lead. Bars begin or end at the middle of the chart, which is at :data:`BAR`."""
    if ranking.lead is None or not ranking.lead.parts:
        return []
    longest = max(abs(part) for _, part in ranking.lead.parts)
    bars = []
    for criterion, part in ranking.lead.parts:
        width = round(BAR * abs(part) / longest, 1)
        begin = BAR if part > 0 else BAR - width
        text = f"{part:+.3f}".replace("-", "−")
        bars.append(Bar(criterion, text, begin, width, part > 0))
    return bars


class AxisLabel(NamedTuple):
    """Line of the grid, with its label."""

    x1: float
    x2: float
    y1: float
    y2: float
    text: str
    anchor: str
    tx: float
    ty: float


class Line(NamedTuple):
    """Line for one spectrum; ``look`` is a class of the style sheet."""

    points: str
    look: str
    dash: str
    name: str


class Plot(NamedTuple):
    case: str
    grid: Sequence[AxisLabel]
    lines: Sequence[Line]


def plot(case: str, spectra: Sequence[Spectrum]) -> Plot:
    densities = np.concatenate([spectrum.density for spectrum in spectra])
    highest = math.ceil(math.log10(max(densities.max(), 1e-11)))
    lowest = max(math.floor(math.log10(max(densities.min(), 1e-12))), highest - DECADES)
    limits = [
        float(reduce(spectrum.frequency_hz)) for reduce in (np.min, np.max) for spectrum in spectra
    ]
    left, right = math.log10(min(limits)), math.log10(max(limits))

    def to_x(frequency: float) -> float:
        share = (math.log10(frequency) - left) / (right - left)
        return round(FRAME[0] + share * (FRAME[2] - FRAME[0]), 1)

    def to_y(density: float) -> float:
        share = (math.log10(max(density, 10.0**lowest)) - lowest) / max(highest - lowest, 1)
        return round(FRAME[3] - share * (FRAME[3] - FRAME[1]), 1)

    grid = []
    for decade in range(lowest, highest + 1):
        level = to_y(10.0**decade)
        grid.append(
            AxisLabel(
                FRAME[0], FRAME[2], level, level, f"1e{decade}", "end", FRAME[0] - 4, level + 4
            )
        )
    for frequency in FREQUENCIES_HZ:
        if min(limits) <= frequency <= max(limits):
            position = to_x(frequency)
            below = FRAME[3] + 18
            text = f"{frequency:g} Hz"
            grid.append(
                AxisLabel(position, position, FRAME[1], FRAME[3], text, "middle", position, below)
            )
    lines, colored = [], 0
    for spectrum in spectra:
        pairs = zip(spectrum.frequency_hz.tolist(), spectrum.density.tolist())
        points = " ".join(f"{to_x(frequency)},{to_y(density)}" for frequency, density in pairs)
        if spectrum.is_reference:
            lines.append(Line(points, "reference", "none", f"{spectrum.entry} (reference)"))
            continue
        dash = DASHES[colored // COLORS % len(DASHES)]
        lines.append(Line(points, f"p{colored % COLORS}", dash, spectrum.entry))
        colored += 1
    return Plot(case, grid, lines)
