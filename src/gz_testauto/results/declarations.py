"""Select the metrics that results show: those that a campaign declares or that its trials have.

Results are shown with the headings and units that are stored with them, even if the plug-in that
computed them is not installed.
"""

from typing import Collection, Dict, Sequence, Tuple

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.metrics.interface import METRICS, Metric, builtin_metrics
from gz_testauto.metrics.reported import REPORTED


def shown_metrics(declared: Sequence[Metric], measured: Collection[str]) -> Tuple[Metric, ...]:
    """Return the metrics of a campaign in the order in which results show them: the ``declared``
    metrics that are always shown or were measured, then the others of ``measured``, by name."""
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
    """Return the installed metric, else one with only its name, for completed trials."""
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
