"""The executor in lock-step passes the conformance suite."""

from gz_testauto.base.errors import SimulatorError
from gz_testauto.simulators.kinematic import KinematicSimulator
from gz_testauto.testing.executor_conformance import ExecutorConformance
from gz_testauto.trial.lockstep import LockstepExecutor


def cannot_start(bed):
    raise SimulatorError("the simulator cannot be started")


class TestLockstep(ExecutorConformance):
    cause = "this simulation is over"
    simulators = ()

    def make_executor(self, bed, directory):
        return LockstepExecutor(bed, self.open_simulator)

    def make_broken_executor(self, bed, directory):
        return LockstepExecutor(bed, cannot_start)

    def open_simulator(self, bed):
        simulator = KinematicSimulator()
        type(self).simulators = (*self.simulators, simulator)
        return simulator

    def harm(self):
        self.simulators[-1].close()
        return True
