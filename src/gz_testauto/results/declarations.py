"""Which metrics results show: those that a campaign declares, and those that its trials have.

Results are read with the headings and units that are stored with them, also where the plugin that
measured them is not installed.
"""

from typing import Collection, Dict, Sequence, Tuple

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.metrics.interface import METRICS, Metric, builtin_metrics
from gz_testauto.metrics.reported import REPORTED


def shown_metrics(declared: Sequence[Metric], measured: Collection[str]) -> Tuple[Metric, ...]:
    """The metrics of a campaign, in the order in which results show them: those that are always
    shown, and those that were ``measured``, by name."""
    known: Dict[str, Metric] = {one.name: one for one in declared or builtin_metrics()}
    for name in sorted(measured):
        if name not in known:
            known[name] = _installed(name)
    return tuple(
        metric
        for metric in known.values()
        if metric.name in measured or metric.in_table or metric.in_comparison or metric.in_agreement
    )


def _installed(name: str) -> Metric:
    """As declared here; else known by its name only, and meaningful for completed trials only."""
    found = REPORTED.get(name)
    if found is None:
        try:
            found = METRICS.get(name)
        except GzTestautoError:
            found = None
    if isinstance(found, Metric):
        return found
    return Metric(
        name=name,
        better="neither",
        completed_only=True,
        description="not installed",
    )
