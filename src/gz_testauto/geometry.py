"""The name that :mod:`gz_testauto.base.pose` had before: planners of users import from it."""

import warnings

from gz_testauto.base.pose import *  # noqa: F403

warnings.warn(
    "gz_testauto.geometry is now gz_testauto.base.pose: import from there",
    DeprecationWarning,
    stacklevel=2,
)
