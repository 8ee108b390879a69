"""The logistic regression of failure on features, and what it requires of the data.

All requested features are in one model: none is selected by its result, which would make intervals
too narrow. Each odds ratio is that of one standard deviation over the trials. Several planners have
one intercept each and common coefficients.

The interval of a coefficient is that of the profile likelihood, wherever its deviance is at most
the quantile of a squared t distribution, whose degrees of freedom are the number of worlds minus
that of coefficients. The deviance is divided by the ratio of the variance over worlds
(:mod:`gz_testauto.analysis.logistic`) to that of the likelihood, if it is above 1: R. E. Chandler
and S. Bate, Biometrika 94 (2007) 167–183. The likelihood without a penalty underestimates the upper
end of no effect, and Firth's penalized one (G. Heinze and M. Schemper, Statistics in Medicine 21
(2002) 2409–2419) the lower end of none; the stated interval contains both.
"""

import math
from dataclasses import dataclass
from typing import List, Sequence, Tuple

import numpy as np

from gz_testauto.analysis.comparison import ALPHA, holm
from gz_testauto.analysis.intervals import LEVEL, Estimate
from gz_testauto.analysis.logistic import LogisticFit, Profile, cluster_covariance, fit_logistic
from gz_testauto.base.errors import ResultsError
from gz_testauto.extras.explain.features import Feature, FeatureTable
from gz_testauto.report.plain import count_text, joined, p_text

PER_FEATURE = 10  # least worlds with a failure, and with a success, for each feature

_UNIQUE = 1e-6  # least share of a feature's variance that previous features do not determine

_SEPARATION = 1e-6

METHOD = "logistic regression, Firth, clustered by world"


@dataclass(frozen=True)
class FeatureEffect:
    """The effect of a feature on failure.

    ``mean`` and ``deviation`` describe the feature over the trials, in its own unit. ``odds_ratio``
    is the factor of the odds of failure per standard deviation. ``p`` is adjusted by Holm's method.
    """

    feature: Feature
    mean: float
    deviation: float
    odds_ratio: Estimate
    p: float

    @property
    def trend(self) -> str:
        """The values with more failures: ``larger``, ``smaller``, or "" if there is no trend."""
        if not self.p < ALPHA:
            return ""
        return "larger" if self.odds_ratio.value > 1.0 else "smaller"


@dataclass(frozen=True)
class Explanation:
    """The fitted model; ``notes`` state which data and features are not part of it, and why."""

    planners: Tuple[str, ...]
    effects: Tuple[FeatureEffect, ...]
    trials: int
    failures: int
    worlds: int
    worlds_with_failure: int
    notes: Tuple[str, ...]


def explain(table: FeatureTable) -> Tuple[Explanation, FeatureTable]:
    """Return the model of failure, and the part of ``table`` to which it was fitted.

    Raises ``ResultsError`` if too few worlds have a failure, or a success.
    """
    notes: List[str] = []
    table = _rows_without_gaps(table, notes)
    table = _informative(table, notes)
    table = _distinct(table, notes)
    _require_enough(table, notes)
    design, deviation = _design(table)
    ones = np.ones(len(table.failed))
    fit = fit_logistic(design, table.failed.astype(float), ones)
    if not fit.has_converged:
        raise ResultsError(
            "the logistic regression does not converge; use fewer features with --features"
        )
    notes += _separation_notes(design, table)
    notes += _misfit_notes(design, table)
    ratios, p_values = zip(*_estimates(fit, design, table))
    means = [float(values.mean()) for values in table.values.T]
    rows = zip(table.features, means, deviation.tolist(), ratios, holm(p_values))
    effects = tuple(FeatureEffect(*row) for row in rows)
    worlds, with_failure, _ = _world_counts(table)
    explanation = Explanation(
        tuple(dict.fromkeys(table.planners)),
        effects,
        len(table.failed),
        int(table.failed.sum()),
        worlds,
        with_failure,
        tuple(notes),
    )
    return explanation, table


def _rows_without_gaps(table: FeatureTable, notes: List[str]) -> FeatureTable:
    is_finite = np.isfinite(table.values)
    for index, feature in enumerate(table.features):
        missing = ~is_finite[:, index]
        if missing.any():
            failed = int(table.failed[missing].sum())
            notes.append(
                f"{count_text(int(missing.sum()), 'trial')} without a finite value of "
                f"{feature.name} ({failed} failed) are not part of the model."
            )
    return table.rows(is_finite.all(axis=1))


def _informative(table: FeatureTable, notes: List[str]) -> FeatureTable:
    """Return the trials of planners with failures and successes, and add a note on each omitted
    planner to ``notes``.
    """
    if not len(table.failed):
        return table
    for planner in dict.fromkeys(table.planners):
        ended = table.failed[np.asarray(table.planners) == planner]
        if ended.all() or not ended.any():  # an intercept explains these completely
            word = "always" if ended.all() else "never"
            notes.append(f"{planner} {word} failed, so its trials are not part of the model.")
            table = table.rows(np.asarray(table.planners) != planner)
    return table


def _distinct(table: FeatureTable, notes: List[str]) -> FeatureTable:
    """Return the table without features that are constant, or linear combinations of previous
    features, and add a note on each of them to ``notes``.
    """
    if not len(table.failed):
        return table
    basis = _planner_indicators(table)
    used: List[int] = []
    for index, feature in enumerate(table.features):
        values = table.values[:, index]
        scale = float(np.abs(values).max())
        if np.ptp(values) <= 1e-9 * scale:
            notes.append(f"{feature.name} is {values[0]:.6g} in all trials, so it is not used.")
            continue
        standard = (values - values.mean()) / values.std()
        residual = standard - basis @ np.linalg.lstsq(basis, standard, rcond=None)[0]
        if float((residual**2).mean()) < _UNIQUE:
            determining = [table.features[earlier].name for earlier in used] or ["the planner"]
            notes.append(
                f"{feature.name} is determined by {joined(determining)}, so it is not used."
            )
            continue
        used.append(index)
        basis = np.column_stack([basis, standard])
    return table.columns(used)


def _require_enough(table: FeatureTable, notes: Sequence[str]) -> None:
    """Raise ``ResultsError`` for too few worlds with failures or successes."""
    reason = f" {' '.join(notes)}" if notes else ""
    if not len(table.failed):
        raise ResultsError(
            "no trial can be explained: there must be failures and successes of the same planner."
            f"{reason} Run more or harder worlds, or name other planners or --features"
        )
    if not table.features:
        raise ResultsError(f"no feature differs between the trials.{reason} Use other --features")
    _, failed, passed = _world_counts(table)
    least = PER_FEATURE * len(table.features)
    if failed >= least and passed >= least:
        return
    number = min(failed, passed)
    kind = "failure" if failed < least else "success"
    affordable = number // PER_FEATURE
    names = joined([feature.name for feature in table.features])
    remedy = f"use --features with at most {affordable} of them, or " if affordable else ""
    raise ResultsError(
        f"{count_text(number, 'world')} with a {kind} "
        f"{'is' if number == 1 else 'are'} too few to explain failures by "
        f"{count_text(len(table.features), 'feature')} ({names}): at least {least} are necessary, "
        f"{PER_FEATURE} for each feature; {remedy}run more worlds.{reason}"
    )


def _world_counts(table: FeatureTable) -> Tuple[int, int, int]:
    """Return the numbers of worlds, of those with a failure, and of those with a success."""
    worlds = np.asarray(table.worlds)
    return (
        len(set(table.worlds)),
        len(set(worlds[table.failed])),
        len(set(worlds[~table.failed])),
    )


def _planner_indicators(table: FeatureTable) -> np.ndarray:
    """Return one column per planner, 1 in the rows of its trials: their intercepts."""
    planners = np.asarray(table.planners)
    return np.column_stack(
        [(planners == planner).astype(float) for planner in dict.fromkeys(table.planners)]
    )


def _design(table: FeatureTable) -> Tuple[np.ndarray, np.ndarray]:
    """Return the design matrix, and the standard deviations (k,) of the k features.

    Its columns are the standardized features, then one intercept for each planner.
    """
    deviation = table.values.std(axis=0)
    standard = (table.values - table.values.mean(axis=0)) / deviation
    return np.column_stack([standard, _planner_indicators(table)]), deviation


def _estimates(
    fit: LogisticFit, design: np.ndarray, table: FeatureTable
) -> List[Tuple[Estimate, float]]:
    """Return the odds ratio and the p-value of each feature."""
    from scipy.stats import t

    failed, ones = table.failed.astype(float), np.ones(len(table.failed))
    robust = np.diag(cluster_covariance(fit, design, failed, ones, np.asarray(table.worlds)))
    model = np.diag(fit.model_covariance)
    distribution = t(len(set(table.worlds)) - design.shape[1])
    reach = float(distribution.ppf((1 + LEVEL) / 2))
    profiles = [Profile(design, failed, ones, penalized) for penalized in (False, True)]
    estimates = []
    for index in range(len(table.features)):
        factor = max(1.0, float(robust[index] / model[index]))
        value, error = float(fit.coefficients[index]), math.sqrt(float(model[index]))
        limits = [profile.limits(index, value, error, factor * reach**2) for profile in profiles]
        ends = min(low for low, _ in limits), max(high for _, high in limits)
        deviance = min(profile.deviance(index, 0.0) for profile in profiles) / factor
        p = float(2.0 * distribution.sf(math.sqrt(deviance)))
        ratio, low, high = map(_exp_without_overflow, (value, *ends))
        estimates.append((Estimate(ratio, low, high, METHOD), p))
    return estimates


def _exp_without_overflow(value: float) -> float:
    return math.inf if value > 700.0 else math.exp(value)  # larger ones overflow


def _separation_notes(design: np.ndarray, table: FeatureTable) -> List[str]:
    """Return a note if a linear combination of the features separates failures from successes.

    Then no trial is on the wrong side of a hyperplane, and not all trials are in it.
    """
    from scipy.optimize import linprog

    side = np.where(table.failed, 1.0, -1.0)[:, None] * design
    solution = linprog(-side.sum(axis=0), A_ub=-side, b_ub=np.zeros(len(side)), bounds=(-1.0, 1.0))
    if solution.status != 0 or -solution.fun < _SEPARATION * len(side):
        return []
    return [
        "The features separate the failures from the successes, completely or in a part of the "
        "worlds. The odds ratios then have no upper limit; the stated ones are finite only because "
        "of Firth's penalty."
    ]


def _misfit_notes(design: np.ndarray, table: FeatureTable) -> List[str]:
    """Return a note for each feature whose effect differs between planners, or whose square has an
    effect."""
    planner_columns = _planner_indicators(table)[:, 1:]
    texts: List[str] = []
    p_values: List[float] = []
    for index, feature in enumerate(table.features):
        values = design[:, [index]]
        for added, text in (
            (
                values * planner_columns,
                f"The effect of {feature.name} differs between the planners ({{}}), so its odds "
                "ratio describes none of them. Explain each planner by its name.",
            ),
            (
                values**2,
                f"The odds of failure do not change steadily with {feature.name} ({{}}), so its "
                "odds ratio does not describe them. Use the tree, or a curve of the report.",
            ),
        ):
            p = _p_of_added(design, added, table)
            if not math.isnan(p):
                texts.append(text)
                p_values.append(p)
    adjusted = holm(p_values)
    return [text.format(p_text(p)) for text, p in zip(texts, adjusted) if p < ALPHA]


def _p_of_added(design: np.ndarray, added: np.ndarray, table: FeatureTable) -> float:
    """Return the p-value of the hypothesis that the columns ``added`` (n, k) have no effect.

    It is the larger p-value of the likelihood-ratio test and of Wald's test. It is NaN without
    columns or without a unique solution.
    """
    from scipy.stats import f

    complete = np.column_stack([design, added])
    count, degrees = added.shape[1], len(set(table.worlds)) - complete.shape[1]
    if not count or degrees < 1 or np.linalg.matrix_rank(complete) < complete.shape[1]:
        return math.nan
    failed, ones = table.failed.astype(float), np.ones(len(table.failed))
    fit = fit_logistic(complete, failed, ones)
    if not fit.has_converged:
        return math.nan
    robust = cluster_covariance(fit, complete, failed, ones, np.asarray(table.worlds))
    effects = fit.coefficients[-count:]
    precision = np.linalg.inv(fit.model_covariance[-count:, -count:])
    with_added, without = (
        Profile(columns, failed, ones, False).largest for columns in (complete, design)
    )
    # Few failures make the first test too sensitive, and features that nearly separate the second.
    statistic = min(2.0 * (with_added - without), float(effects @ precision @ effects))
    statistic /= max(1.0, float(np.trace(precision @ robust[-count:, -count:])) / count)
    return float(f.sf(statistic / count, count, degrees))
