"""A comparison of simulators as one HTML page that opens from disk and runs no script."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, List, Optional, Sequence

import jinja2
import numpy as np

import gz_testauto.report.page
from gz_testauto import __version__
from gz_testauto.fidelity.estimates import Measured
from gz_testauto.fidelity.features import said_features
from gz_testauto.fidelity.findings import Findings, Spectrum
from gz_testauto.fidelity.measures.interface import Measure
from gz_testauto.fidelity.sensitivity import SPREAD
from gz_testauto.printable import printable
from gz_testauto.report.simulators.terminal import (
    change_text,
    floor_of,
    measure_title,
    measured_texts,
    notes,
    number,
    of_entries,
    reference_text,
    turning_lines,
)
from gz_testauto.results.directory import write_atomically

WIDTH, MARGIN = 200.0, 6.0
"""Of the strip on which a value is drawn, in its own units."""

LEAST_SPAN = 1e-3

PLOT = (640.0, 260.0)
FRAME = (48.0, 10.0, 630.0, 232.0)
"""Left, top, right and bottom of what is plotted."""


Place = Callable[[float], Optional[float]]
"""Where on the strip a value is drawn; None for none."""


@dataclass(frozen=True)
class Chart:
    """One measure of all entries."""

    title: str
    measure: Measure
    rows: Sequence[Dict[str, object]]
    low: float
    high: float
    floor: Optional[str]
    floor_at: Optional[float]


def write_page(found: Findings, path: Path) -> None:
    """Write it. Raises ``OSError``."""
    write_atomically(path, page_html(found).encode())


def page_html(found: Findings) -> str:
    """The page."""
    here = Path(__file__).resolve().parent
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(here)),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: printable(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    shared = Path(gz_testauto.report.page.__file__).parent / "page.css"
    rankings = [("Ranking", found.ranking)]
    if found.printed is not None:
        rankings.append(("By the scores that were printed", found.printed))
    return environment.get_template("page.html.jinja").render(
        version=__version__,
        style=shared.read_text(encoding="utf-8"),
        found=found,
        reference=reference_text(found),
        change="" if found.printed is None else change_text(found),
        rankings=rankings,
        turning_lines=turning_lines,
        spread=round(100 * SPREAD),
        number=number,
        charts=[_chart(found, measure) for measure in found.measures],
        spectra=[_plot(case, own) for case, own in found.spectra.items()],
        features=[
            (entry.name, said, entry.features.source, entry.features.date)
            for entry in found.spec.ranked
            for said in [said_features(entry.features)]
            if said
        ],
        notes=notes(found),
    )


def _chart(found: Findings, measure: Measure) -> Chart:
    of_all = of_entries(found, measure)
    floor = floor_of(found, measure)
    shown = [
        value
        for one in of_all.values()
        for value in one.estimate[:3]
        if not one.missing and not math.isnan(value)
    ]
    shown += [] if math.isnan(floor) else [floor]
    low, high = min([0.0, *shown]), max([*shown, LEAST_SPAN])

    def at(value: float) -> Optional[float]:
        if math.isnan(value):
            return None
        return round(MARGIN + (WIDTH - 2 * MARGIN) * (value - low) / (high - low), 1)

    rows = [_row(name, one, at) for name, one in of_all.items()]
    floor_text = None if math.isnan(floor) else number(floor)
    title = measure_title(found, measure)
    return Chart(title, measure, rows, low, high, floor_text, at(floor))


def _row(name: str, one: Measured, place: Place) -> Dict[str, object]:
    value, interval, said = measured_texts(one)
    return {
        "name": name,
        "value": value,
        "interval": interval,
        "said": said,
        "at": place(one.estimate.value),
        "begin": place(one.estimate.low),
        "end": place(one.estimate.high),
    }


def _plot(case: str, spectra: Sequence[Spectrum]) -> Dict[str, object]:
    """Lines in a frame with logarithmic axes."""
    every = np.concatenate([one.density for one in spectra])
    most = math.ceil(math.log10(max(every.max(), 1e-11)))
    least = max(math.floor(math.log10(max(every.min(), 1e-12))), most - 8)
    frequencies = spectra[0].frequency_hz
    left, right = math.log10(frequencies[0]), math.log10(frequencies[-1])

    def x(frequency: float) -> float:
        share = (math.log10(frequency) - left) / (right - left)
        return round(FRAME[0] + share * (FRAME[2] - FRAME[0]), 1)

    def y(density: float) -> float:
        share = (math.log10(max(density, 10.0**least)) - least) / (most - least)
        return round(FRAME[3] - share * (FRAME[3] - FRAME[1]), 1)

    grid: List[Dict[str, object]] = []
    for decade in range(least, most + 1):
        level = y(10.0**decade)
        grid.append(_line(FRAME[0], FRAME[2], level, level, f"1e{decade}", "end"))
    for frequency in (0.5, 1, 2, 5, 10, 20):
        if frequencies[0] <= frequency <= frequencies[-1]:
            place = x(frequency)
            grid.append(_line(place, place, FRAME[1], FRAME[3], f"{frequency:g} Hz", "middle"))
    colours = [f"var(--p{number})" for number in range(6)]
    lines = []
    for number_, one in enumerate(spectra):
        points = " ".join(
            f"{x(frequency)},{y(density)}"
            for frequency, density in zip(one.frequency_hz.tolist(), one.density.tolist())
        )
        reference = one.is_reference
        colour = "var(--fore)" if reference else colours[number_ % len(colours)]
        lines.append(
            {
                "points": points,
                "colour": colour,
                "width": 2.5 if reference else 1.2,
                "name": one.entry,
            }
        )
    return {"case": case, "grid": grid, "lines": lines}


def _line(x1: float, x2: float, y1: float, y2: float, text: str, anchor: str) -> Dict[str, object]:
    under = anchor == "middle"
    return {
        "x1": x1,
        "x2": x2,
        "y1": y1,
        "y2": y2,
        "text": text,
        "anchor": anchor,
        "tx": x1 if under else x1 - 4,
        "ty": PLOT[1] - 8 if under else y1 + 4,
    }
