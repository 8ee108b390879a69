"""Scores of a simulator's features, from 0 to 1.

Implements the rules of A. Farley, J. Wang, J. A. Marshall, "How to pick a mobile robot simulator",
Simulation Modeling Practice and Theory 120, 2022, section 3.2. The features are quoted from a
source with a date; this module does not determine them.
"""

from typing import Callable, Dict, Mapping, Optional, Tuple

from pydantic import BeforeValidator, Field
from typing_extensions import Annotated, Literal

from gz_testauto.spec.model import Spec, as_tuple

Names = Annotated[Tuple[str, ...], BeforeValidator(as_tuple)]
Share = Annotated[float, Field(ge=0, le=1)]


class FeaturesSpec(Spec):
    """Quoted features of a simulator. A feature that is not specified is not scored.

    ``additional`` has additional features, each with its score.
    """

    free: Optional[bool] = None
    open_source: Optional[bool] = None
    ros: Optional[Literal["included", "plugin", "none"]] = None
    languages: Optional[Names] = None
    ui: Optional[Literal["full", "part", "view", "none"]] = None
    formats: Optional[Names] = None
    formats_by_plugin: Names = ()
    """Formats of an official plug-in that needs a manual installation."""
    engines: Optional[Names] = None
    additional: Dict[str, Share] = Field(default_factory=dict)
    source: str = ""
    """Source of the features."""
    date: str = Field("", pattern=r"^(\d{4}-\d{2}-\d{2})?$")
    """Date of the source: ``"2026-11-24"``."""


def _languages(features: FeaturesSpec) -> float:
    supported = {name.lower() for name in features.languages or ()}
    c, python = bool(supported & {"c", "c++"}), "python" in supported
    if c and python and "matlab" in supported and supported - {"c", "c++", "python", "matlab"}:
        return 1.0
    return 0.667 if c and python else 0.333 if c or python else 0.0


def _formats(features: FeaturesSpec) -> float:
    supported = {name.lower() for name in features.formats or ()}
    both = {"urdf", "sdf"}
    if both < supported:
        return 1.0
    if both & supported:
        return 0.5
    return 0.25 if both & {name.lower() for name in features.formats_by_plugin} else 0.0


ROS = {"included": 1.0, "plugin": 0.8, "none": 0.0}
UI = {"full": 1.0, "part": 0.667, "view": 0.333, "none": 0.0}

RULES: Mapping[str, Callable[[FeaturesSpec], float]] = {
    "free": lambda features: float(features.free is True),
    "open_source": lambda features: float(features.open_source is True),
    "ros": lambda features: ROS[features.ros or "none"],
    "languages": _languages,
    "ui": lambda features: UI[features.ui or "none"],
    "formats": _formats,
    "engines": lambda features: float(len(set(features.engines or ())) > 1),
}
"""Scores by name: languages: C or C++, Python, MATLAB and more 1, C or C++ and Python 0.667, either
0.333; formats: URDF, SDF and more 1, either 0.5, by plugin 0.25; more than one engine 1."""


def feature_score(features: FeaturesSpec, name: str) -> Optional[float]:
    """Return the score of a feature, None if it is not specified."""
    if name not in RULES:
        return features.additional.get(name)
    return None if getattr(features, name) is None else RULES[name](features)
