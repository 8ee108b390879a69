"""HTML page of a comparison of simulators, without scripts."""

import platform
import shlex
from importlib.metadata import version
from pathlib import Path
from typing import Sequence, Tuple

import yaml

import gz_testauto.report.page
from gz_testauto import __version__
from gz_testauto.extras.simulator_comparison.findings import Findings
from gz_testauto.extras.simulator_comparison.measures.inertial import AXES
from gz_testauto.extras.simulator_comparison.report import sentences
from gz_testauto.extras.simulator_comparison.report.charts import BAR, PLOT, chart, lead_bars, plot
from gz_testauto.extras.simulator_comparison.report.terminal import millimeters
from gz_testauto.report.page.rendering import content_hash, template
from gz_testauto.results.directory import write_atomically

_HERE = Path(__file__).resolve().parent
_SHARED = Path(gz_testauto.report.page.__file__).resolve().parent / "page.css"

BENCH = "bench.json"

LIBRARIES = ("numpy", "scipy")


def write_page(findings: Findings, path: Path) -> None:
    folder, bench = (shlex.quote(str(p)) for p in (path.parent, path.parent / BENCH))
    again = (
        ("To measure and rank the recordings again", f"gz_testauto simulators report {folder}"),
        (
            "To repeat the whole comparison",
            f"gz_testauto simulators compare {bench} --out {folder}_again",
        ),
    )
    write_atomically(path, page_html(findings, again).encode())


def page_html(findings: Findings, again: Sequence[Tuple[str, str]] = ()) -> str:
    """Return the HTML page. ``again`` has pairs of a purpose and a command."""
    style = "\n".join(
        path.read_text(encoding="utf-8").strip() for path in (_SHARED, _HERE / "page.css")
    )
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    versions = (
        f"gz_testauto {__version__}, Python {platform.python_version()}, {libraries}; "
        f"seed {findings.spec.seed}."
    )
    return template(_HERE / "page.html.jinja").render(
        policy=f"default-src 'none'; style-src {content_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        version=__version__,
        style=style,
        findings=findings,
        sentences=sentences,
        rankings=[
            (title, ranking, lead_bars(ranking)) for title, ranking in sentences.rankings(findings)
        ],
        bar=BAR,
        size=PLOT,
        millimeters=millimeters,
        axes=AXES,
        charts=[chart(findings, measure) for measure in findings.measures],
        shown=[measure.name for measure in findings.measures],
        spectra=[plot(case, spectra) for case, spectra in findings.spectra.items()],
        features=sentences.feature_texts(findings),
        left_out=sentences.left_out_lines(findings),
        made=[*sentences.notes(findings), versions],
        again=again,
        bench=yaml.safe_dump(
            findings.spec.model_dump(mode="json", exclude_defaults=True),
            sort_keys=False,
            allow_unicode=True,
            width=100,
        ),
    )
