"""Gazebo's window on a server of ours.

Owns the gzclient process, which ends with us as the server does. A client that cannot be
started, or that the user closes, disturbs nobody.
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
        """End the window."""
        self._process.kill()
        shutil.rmtree(self._directory, ignore_errors=True)
