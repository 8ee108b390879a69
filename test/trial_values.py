"""Trials whose worlds and planners do not exist, for tests that do not run them."""

from pathlib import Path

from gz_testauto.base.pose import Pose2D
from gz_testauto.spec.campaign import BuiltinPlannerSpec
from gz_testauto.spec.worlds import RandomNumbers
from gz_testauto.trial.trial import Trial
from gz_testauto.worlds.record import WorldRecord
from gz_testauto.worlds.source import Mission


def trial_value(index=0, world="world_0000", world_index=0, planner="fgm", repetition=0):
    return Trial(
        WorldRecord(world_index, world, Path(f"{world}.world"), ""),
        Mission(Pose2D(-3.0, 0.0), (Pose2D(3.0, 0.0),)),
        BuiltinPlannerSpec.model_construct(name=planner, plugin=planner, parameters={}),
        RandomNumbers(seed=1),
        repetition,
        index,
    )
