"""A small environment for tests: a robot of a Jackal's size among two cylinders on a plain."""

import numpy as np
import yaml

from gz_testauto.base.resources import share_directory
from gz_testauto.extras.learning.policies.observations import ObservationEncoder

SHARE = share_directory()


def following(terms, speed=1.0):
    """Return the weights of a linear policy that turns towards the global plan. The last of the
    terms must be ``plan``."""
    weights = np.zeros((2, ObservationEncoder(terms).size + 1))
    weights[0, -1] = speed
    weights[1, -3] = 2.0  # the sine of the bearing
    return weights.ravel()


def written(folder, **changes):
    """The environment as a file."""
    data = {
        "name": "small",
        "seed": 3,
        "worlds": {
            "base": str(SHARE / "worlds" / "room.world"),
            "obstacles": {
                "obstacles": [
                    {"type": "cylinder", "count": 2, "radius_m": [0.15, 0.3], "length_m": 1.0}
                ],
                "region": {"rectangle": {"x_m": [-1.0, 1.0], "y_m": [-1.0, 1.0]}},
            },
            "count": 4,
        },
        "robot": {
            "model": "package://gz_testauto/models/jackal_sized/model.sdf",
            "start": {"x_m": -3.0, "y_m": 0.0},
            "max_linear_mps": 1.0,
        },
        "goal": {"x_m": 3.0, "y_m": 0.0},
        "control_period_s": 0.2,
        "limits": {"timeout_s": 12.0, "stuck_window_s": 4.0},
        "environment": {"observations": [{"term": "lidar", "beams": 8}, "plan"]},
    }
    data.update(changes)
    file = folder / "environment.yaml"
    file.write_text(
        yaml.safe_dump({key: value for key, value in data.items() if value is not None})
    )
    return file
