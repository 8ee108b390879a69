"""Free fall: gravity and the integrator, without contacts."""

from gz_testauto.extras.simulator_comparison.physics.check import PhysicsCheck, PhysicsResult
from gz_testauto.extras.simulator_comparison.physics.scenes import (
    GRAVITY_MPS2,
    PhysicsSceneLoader,
    body,
)

DURATION_S = 0.7


def fall(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the distance (m) that a box falls."""
    box = body(
        "box", "<box><size>0.2 0.2 0.2</size></box>", (0, 0, 5.0), 1.0, (0.0067,) * 3, mu=1.0
    )
    simulation = loader.load(box)
    end = simulation.step(DURATION_S).models["box"].pose.position
    return PhysicsResult(5.0 - end[2], GRAVITY_MPS2 * DURATION_S**2 / 2)


FALL = PhysicsCheck("free_fall", "distance that a box falls in 0.7 s", "m", "g t²/2", fall)
