#!/usr/bin/env python3
"""Compare the iterations of sst per second of CPU time with those of OMPL's SST, used from Python.

    python3 -m pip install --no-deps --target /tmp/ompl ompl==1.7.0
    PYTHONPATH=/tmp/ompl python3 benchmarks/sst_ompl.py

Both have the same query: a bicycle at 5 m/s on a free road of two lanes, to 30 m ahead. OMPL
computes one edge of 0.4 s per iteration, with ten steps in Python, of which only the end is
validated.
"""

import argparse
import math
import time

import numpy as np
from ompl import base as ob
from ompl import control as oc
from ompl import util as ou

from gz_testauto.extras.roads.sst.search import Search
from gz_testauto.planners.interface import Lane

LANES = [Lane(np.array([[0.0, y], [200.0, y]]), np.full(2, 3.5)) for y in (-1.75, 1.75)]
ROOT = np.array([20.0, -1.75, 0.0, 5.0])
STEP_S, STEPS, WHEELBASE_M = 0.04, 10, 2.7


class Ompl:
    """The SST planner of OMPL, with the query of this benchmark."""

    def __init__(self):
        space = ob.CompoundStateSpace()
        plane, speed = ob.RealVectorStateSpace(2), ob.RealVectorStateSpace(1)
        bounds = ob.RealVectorBounds(2)
        for axis, (low, high) in enumerate(((18.0, 53.0), (-3.5, 3.5))):
            bounds.setLow(axis, low)
            bounds.setHigh(axis, high)
        plane.setBounds(bounds)
        bounds = ob.RealVectorBounds(1)
        bounds.setLow(0.0)
        bounds.setHigh(8.33)
        speed.setBounds(bounds)
        for part, weight in ((plane, 1.0), (ob.SO2StateSpace(), 0.5), (speed, 1.0)):
            space.addSubspace(part, weight)
        controls = oc.RealVectorControlSpace(space, 2)
        bounds = ob.RealVectorBounds(2)
        for axis, (low, high) in enumerate(((-4.0, 2.0), (-0.5, 0.5))):
            bounds.setLow(axis, low)
            bounds.setHigh(axis, high)
        controls.setBounds(bounds)
        self.iterations = 0
        setup = oc.SimpleSetup(controls)
        setup.setStateValidityChecker(ob.StateValidityCheckerFn(self.is_valid))
        setup.setStatePropagator(oc.StatePropagatorFn(self.propagate))
        information = setup.getSpaceInformation()
        information.setPropagationStepSize(STEP_S * STEPS)
        information.setMinMaxControlDuration(1, 1)
        start, goal = ob.State(space), ob.State(space)
        for state, x in ((start, 20.0), (goal, 50.0)):
            state()[0][0], state()[0][1] = x, -1.75
            state()[1].value = 0.0
            state()[2][0] = 5.0
        setup.setStartAndGoalStates(start, goal, 2.0)
        planner = oc.SST(information)
        planner.setSelectionRadius(0.2)
        planner.setPruningRadius(0.1)
        setup.setPlanner(planner)
        self.setup = setup

    def is_valid(self, state):
        """Return whether a state is on the road."""
        x, y, v = state[0][0], state[0][1], state[2][0]
        return 18.0 <= x <= 53.0 and -3.5 <= y <= 3.5 and 0.0 <= v <= 8.33

    def propagate(self, start, control, duration, state):
        """Propagate a state along one edge."""
        self.iterations += 1
        x, y, turned, v = start[0][0], start[0][1], start[1].value, start[2][0]
        accel, rate = control[0], math.tan(control[1]) / WHEELBASE_M
        for _ in range(STEPS):
            x += v * math.cos(turned) * STEP_S
            y += v * math.sin(turned) * STEP_S
            turned += v * rate * STEP_S
            v += accel * STEP_S
        state[0][0], state[0][1], state[2][0] = x, y, v
        state[1].value = math.remainder(turned, 2 * math.pi)

    def per_second(self, duration_s):
        """Return the iterations of OMPL's SST per second of CPU time."""
        before, began = self.iterations, time.process_time()
        self.setup.solve(duration_s)
        return (self.iterations - before) / (time.process_time() - began)


def ours_per_second(iterations, rounds):
    """Return the iterations of this package's search per second of CPU time, including all other
    work of a plan."""
    search = Search(iterations=iterations, lane_branch=False, previous_branch=False)
    began = time.process_time()
    for seed in range(rounds):
        search.plan(ROOT, LANES, ROOT[0], np.random.default_rng(seed))
    return rounds * iterations / (time.process_time() - began)


def main():
    """Measure both planners alternately."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    ou.setLogLevel(ou.LOG_ERROR)
    ours_per_second(3000, 1)  # compiles
    ratios = []
    for _ in range(arguments.rounds):
        theirs, ours = Ompl().per_second(2.0), ours_per_second(12000, 3)
        ratios.append(ours / theirs)
        print(f"OMPL {theirs:9.0f}/s   sst {ours:9.0f}/s   {ratios[-1]:.1f} times", flush=True)
    print(f"sst_over_ompl {np.median(ratios):.1f}   limit 10")


if __name__ == "__main__":
    main()
