"""Gazebo's window, connected to a gzserver of this package.

The gzclient process is stopped with this process, as the server is. A client that cannot start, or
that the user closes, does not affect the trial.
"""

import os
import shutil
import tempfile
from pathlib import Path

from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.processes import start_with_watchdog
from gz_testauto.simulators.gazebo.installation import GazeboInstallation


class GuiClient:
    """A running gzclient."""

    def __init__(self, installation: GazeboInstallation, master_port: int) -> None:
        """Start; raises ``MissingDependencyError`` without a gzclient or a display."""
        if installation.client is None:
            raise MissingDependencyError(f"{installation.where} has no gzclient; run without gui")
        if not os.environ.get("DISPLAY"):
            raise MissingDependencyError("gzclient needs a display: DISPLAY is not set")
        self._directory = Path(tempfile.mkdtemp(prefix="gz_testauto_gzclient_"))
        self._process = start_with_watchdog(
            list(installation.client),
            installation.process_environment(master_port),
            self._directory / "gzclient.log",
            remove=[self._directory],
        )

    def close(self) -> None:
        """Close the window."""
        self._process.kill()
        shutil.rmtree(self._directory, ignore_errors=True)
