"""Random isotropic ground with a specified spectrum.

Along any straight line the one-sided power spectral density of the height is G(n) = G(n0) (n /
n0)^-(2H + 1) with n0 = 0.1 1/m, n in cycles per meter. The two-sided density in the plane with this
marginal is S(k) = c k^-(2H + 2), by 2 c ∫ (n² + m²)^-(H + 1) dm = 2 c √π Γ(H + ½) / Γ(H + 1) n^-(2H
+ 1). With H = ½ the factor is 4 c, so c = G(n0) n0² / 4.
"""

import math

import numpy as np
from scipy.fft import irfft2, next_fast_len

REFERENCE_PER_M = 0.1
"""n0, the wave number at which roughness is specified (ISO 8608)."""

MARGIN = 2
"""The generated periodic field is wider than the returned one by this factor."""


def rough_field(
    pixels: int, pitch_m: float, roughness_m3: float, hurst: float, draw: np.random.Generator
) -> np.ndarray:
    """Return heights (pixels, pixels) in m, every ``pitch_m``, with a spectrum along lines of
    ``roughness_m3`` at 0.1 1/m that is proportional to n^-(2 ``hurst`` + 1).

    Waves longer than twice the field and shorter than two points of the grid are omitted.
    """
    count = next_fast_len(MARGIN * pixels)
    along = np.fft.fftfreq(count, pitch_m)[:, None]
    across = np.fft.rfftfreq(count, pitch_m)[None, :]
    wave_per_m = np.hypot(along, across)
    wave_per_m[0, 0] = np.inf  # the mean is 0
    marginal = math.sqrt(math.pi) * math.gamma(hurst + 0.5) / math.gamma(hurst + 1.0)
    density = roughness_m3 * REFERENCE_PER_M ** (2 * hurst + 1) / (2 * marginal)
    density = density * wave_per_m ** -(2 * hurst + 2)  # m⁴
    # white noise of variance 1 has |F|² = count² in each bin; density is over bins of 1/side²
    noise = np.fft.rfft2(draw.standard_normal((count, count)))
    field = irfft2(noise * np.sqrt(density) / pitch_m, s=(count, count))
    return np.ascontiguousarray(field[:pixels, :pixels])
