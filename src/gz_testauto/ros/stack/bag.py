"""A rosbag of a trial: recorded from just before the goal, kept when the trial is worth it."""

import time
from pathlib import Path

from gz_testauto.base.errors import SimulatorError
from gz_testauto.ros.launched_process import LaunchedProcess
from gz_testauto.spec.stack import BagSpec

END_PATIENCE_S = 20.0
POLL_S = 0.05


class TrialBag:
    """One recording. ``file`` is the bag, once it is whole."""

    def __init__(
        self, spec: BagSpec, directory: Path, name: str, log_file: Path, start_timeout_s: float
    ) -> None:
        """Start to record. Raises ``SimulatorError`` when rosbag does not begin in
        ``start_timeout_s`` of wall time."""
        directory.mkdir(parents=True, exist_ok=True)
        self.file = directory / f"{name}.bag"
        self._when = spec.when
        active = self.file.with_suffix(".bag.active")
        for old in (self.file, active):
            if old.exists():
                old.unlink()
        topics = spec.topics or ["--all"]
        # Not by the command rosbag, which ends before the recorder that it started has closed
        # the bag, and takes that with it.
        self._part = LaunchedProcess(
            "rosbag",
            ["rosrun", "rosbag", "record", "--output-name", str(self.file), *topics],
            log_file,
        )
        deadline = time.monotonic() + start_timeout_s
        while not active.exists():
            failure = self._part.failure()
            if failure or time.monotonic() > deadline:
                self._part.close()
                raise SimulatorError(f"rosbag does not record: {failure or 'it does not begin'}")
            time.sleep(POLL_S)

    def end(self, reached: bool) -> None:
        """Close the bag, and keep it where the campaign wants it."""
        self._part.interrupt(END_PATIENCE_S)
        if reached and self._when == "failed" and self.file.exists():
            self.file.unlink()
