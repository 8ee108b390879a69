"""The name that :mod:`gz_testauto.pose` had before: planners of users import from it."""

import warnings

from gz_testauto.pose import *  # noqa: F403

warnings.warn(
    "gz_testauto.geometry is now gz_testauto.pose: import from there",
    DeprecationWarning,
    stacklevel=2,
)
