"""Conversion of URDF to SDF with Gazebo's program ``gz sdf --print``.

gazebo_ros calls the same code in Gazebo's library, so the result is the same as with gazebo_ros.
"""

import subprocess
import tempfile
from pathlib import Path
from typing import List

from gz_testauto.base.errors import MissingDependencyError, SimulatorError
from gz_testauto.simulators.gazebo.installation import GazeboInstallation, find_gazebo

TIMEOUT_S = 60.0


def convert_urdf(urdf: str) -> str:
    """Return the SDF text of a URDF text.

    Raises ``MissingDependencyError`` if Gazebo is not installed, and ``SimulatorError`` with the
    converter's message if it fails.
    """
    installation = find_gazebo()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model.urdf"
        path.write_text(urdf, encoding="utf-8")
        try:
            result = subprocess.run(
                [*_converter(installation), "sdf", "--print", str(path)],
                env=installation.process_environment(master_port=0),
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SimulatorError(f"URDF cannot be converted to SDF: {error}") from error
    start = result.stdout.find("<sdf")
    if result.returncode != 0 or start < 0:
        lines = (result.stderr or result.stdout).strip().splitlines() or ["no output of gz sdf"]
        raise SimulatorError(f"URDF cannot be converted to SDF: {lines[-1]}")
    return result.stdout[start:]


def _converter(installation: GazeboInstallation) -> List[str]:
    """Return the command of ``gz``, which is next to ``gzserver`` and is started like it."""
    server = Path(installation.server[-1])
    gz = server.with_name(server.name.replace("gzserver", "gz", 1))
    if not gz.is_file():
        raise MissingDependencyError(
            f"URDF cannot be converted to SDF: Gazebo's program {gz} does not exist; install all "
            "of Gazebo, or use SDF"
        )
    return [*installation.server[:-1], str(gz)]
