"""Run commands that must succeed, for tests of installations."""

import shutil
import subprocess

NOT_SOURCE = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "devel", "install")
"""What a copy of the checkout omits. A build writes into the source tree, so it gets a copy."""


def run(*command, **options):
    """Return what the command printed; fail with it if the exit status is not 0."""
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout.strip()
