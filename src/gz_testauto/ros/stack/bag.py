"""The rosbag of a trial, recorded from just before the goal and kept if the campaign needs it."""

import time
from pathlib import Path

from gz_testauto.base.errors import SimulatorError
from gz_testauto.ros.launched_process import LaunchedProcess
from gz_testauto.spec.stack import BagSpec

EXIT_TIMEOUT_S = 20.0
POLL_S = 0.05


class TrialBag:
    """One recording. ``file`` is the path of the complete bag."""

    def __init__(
        self, spec: BagSpec, directory: Path, name: str, log_file: Path, start_timeout_s: float
    ) -> None:
        """Start the recording. Raises ``SimulatorError`` if rosbag does not start within
        ``start_timeout_s`` of wall time."""
        directory.mkdir(parents=True, exist_ok=True)
        self.file = directory / f"{name}.bag"
        self._when = spec.when
        active = self.file.with_suffix(".bag.active")
        for old in (self.file, active):
            if old.exists():
                old.unlink()
        topics = spec.topics or ["--all"]
        # The command rosbag would exit, and stop the recorder, before the bag is closed.
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
                raise SimulatorError(f"rosbag does not record: {failure or 'it does not start'}")
            time.sleep(POLL_S)

    def end(self, reached: bool) -> None:
        """Close the bag; delete it if the campaign keeps only bags of failed trials."""
        self._part.interrupt(EXIT_TIMEOUT_S)
        if reached and self._when == "failed" and self.file.exists():
            self.file.unlink()
