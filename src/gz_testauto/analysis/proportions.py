"""One success rate, one trial per world.

Wilson's score interval, and Clopper–Pearson's exact one where nobody or everybody succeeded,
because Wilson's is too short there. E. B. Wilson, JASA 22 (1927); C. J. Clopper and
E. S. Pearson, Biometrika 26 (1934); both by scipy.
"""

from scipy.stats import binomtest

from gz_testauto.analysis.intervals import LEVEL, Estimate


def success_rate(successes: int, trials: int) -> Estimate:
    """The rate with its interval; unknown for no trials."""
    if trials == 0:
        return Estimate.unknown()
    extreme = successes in (0, trials)
    result = binomtest(successes, trials).proportion_ci(LEVEL, "exact" if extreme else "wilson")
    method = "Clopper–Pearson" if extreme else "Wilson"
    return Estimate(successes / trials, float(result.low), float(result.high), method)
