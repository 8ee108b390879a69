"""URDF to SDF, by the program that ships with Gazebo: ``gz sdf --print``.

Owns finding and calling it; refuses to know either format. gazebo_ros has the conversion from
Gazebo's own library, so the result here is what a user of gazebo_ros gets.
"""

import subprocess
import tempfile
from pathlib import Path
from typing import List

from gz_testauto.base.errors import MissingDependencyError, SimulatorError
from gz_testauto.simulators.gazebo.installation import GazeboInstallation, find_gazebo

TIMEOUT_S = 60.0


def convert_urdf(urdf: str) -> str:
    """The SDF text of a URDF text.

    Raises ``MissingDependencyError`` where there is no Gazebo to convert it, ``SimulatorError``
    with the converter's own words where it refuses.
    """
    installation = find_gazebo()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model.urdf"
        path.write_text(urdf, encoding="utf-8")
        try:
            answer = subprocess.run(
                [*_converter(installation), "sdf", "--print", str(path)],
                env=installation.process_environment(master_port=0),
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SimulatorError(f"URDF cannot be converted to SDF: {error}") from error
    start = answer.stdout.find("<sdf")
    if answer.returncode != 0 or start < 0:
        said = (answer.stderr or answer.stdout).strip().splitlines() or ["it said nothing"]
        raise SimulatorError(f"URDF cannot be converted to SDF: {said[-1]}")
    return answer.stdout[start:]


def _converter(installation: GazeboInstallation) -> List[str]:
    """``gz`` beside ``gzserver``, started the same way."""
    server = Path(installation.server[-1])
    gz = server.with_name(server.name.replace("gzserver", "gz", 1))
    if not gz.is_file():
        raise MissingDependencyError(
            f"URDF cannot be converted to SDF: Gazebo's program {gz} is not there; install the "
            "whole of Gazebo, or hand in SDF"
        )
    return [*installation.server[:-1], str(gz)]
