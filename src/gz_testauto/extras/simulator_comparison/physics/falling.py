"""Free fall: what gravity and the integrator do, before anything touches."""

from gz_testauto.extras.simulator_comparison.physics.bench import GRAVITY_MPS2, Bench, body
from gz_testauto.extras.simulator_comparison.physics.check import Check, Finding

DURATION_S = 0.7


def fall(bench: Bench) -> Finding:
    """How far a box falls (m)."""
    box = body(
        "box", "<box><size>0.2 0.2 0.2</size></box>", (0, 0, 5.0), 1.0, (0.0067,) * 3, mu=1.0
    )
    simulation = bench.load(box)
    end = simulation.step(DURATION_S).models["box"].pose.position
    return Finding(5.0 - end[2], GRAVITY_MPS2 * DURATION_S**2 / 2)


FALL = Check("free_fall", "how far a box falls in 0.7 s", "m", "g t²/2", fall)
