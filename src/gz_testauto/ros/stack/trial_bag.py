"""The rosbag of one trial of a stack."""

import time
from pathlib import Path

from gz_testauto.base.errors import SimulatorError
from gz_testauto.ros.launched_process import LaunchedProcess
from gz_testauto.spec.stack import BagSpec

# wall time within which rosbag must close the bag, and between two checks of its start
BAG_EXIT_TIMEOUT_S, BAG_POLL_S = 20.0, 0.05


class TrialBag:
    """The rosbag of a trial, which starts before the goal is sent."""

    def __init__(
        self, spec: BagSpec, directory: Path, name: str, log_file: Path, start_timeout_s: float
    ) -> None:
        """Delete an earlier bag of this name, and start rosbag. Raises ``SimulatorError`` if it
        does not start in ``start_timeout_s`` of wall time."""
        directory.mkdir(parents=True, exist_ok=True)
        self.file = directory / f"{name}.bag"
        self._condition = spec.when
        active_file = self.file.with_suffix(".bag.active")
        for old_file in (self.file, active_file):
            if old_file.exists():
                old_file.unlink()
        topics = spec.topics or ["--all"]
        # The command rosbag would exit, and stop the recorder, before the bag is closed.
        self._part = LaunchedProcess(
            "rosbag",
            ["rosrun", "rosbag", "record", "--output-name", str(self.file), *topics],
            log_file,
        )
        deadline = time.monotonic() + start_timeout_s
        while not active_file.exists():
            failure = self._part.failure()
            if failure or time.monotonic() > deadline:
                self._part.close()
                cause = failure or f"there is no bag after {start_timeout_s:g} s"
                raise SimulatorError(f"rosbag did not start to record: {cause}")
            time.sleep(BAG_POLL_S)

    def end(self, has_reached: bool) -> None:
        """Stop the recording; delete the bag of a reached goal if only failed trials keep bags."""
        self._part.interrupt(BAG_EXIT_TIMEOUT_S)
        if has_reached and self._condition == "failed" and self.file.exists():
            self.file.unlink()
