import re
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "gz_testauto"
READS = re.compile(
    r"(?<![\w.`])(?<!def )(?<!call )open\((?!.*['\"][wa])|\.read_(text|bytes)\(|\.open\(['\"]r"
    r"|(np\.(load|loadtxt|genfromtxt|fromfile)|Image\.open|ZipFile)\((?!io\.BytesIO|content)"
)
OWN_FILES = {
    "base/disk.py": "the functions that all others use",
    "base/installation.py": "the record of pip",
    "base/registry.py": "entry_points.txt of the extras",
    "cli/doctor.py": "the file .catkin of a workspace",
    "extras/pack/archive.py": "files of any size, which it copies after a check of their type",
    "extras/scenic/output.py": "the files of its temporary directory",
    "extras/simulator_comparison/report/page.py": "its style sheets",
    "processes/start.py": "/proc",
    "processes/subreaper.py": "/proc",
    "report/page/page.py": "its templates",
    "ros/campaign/node.py": "/proc",
    "ros/campaign/planner_process.py": "a log of its child process",
    "ros/launched_process.py": "a log of its child process",
    "ros/node.py": "/proc",
    "simulators/gazebo/server.py": "a log of its child process",
}
"""Modules that read files of this package, of the kernel or of their child processes, directly."""


def test_input_files_are_read_by_the_functions_of_one_module():
    found = {
        str(path.relative_to(SOURCE))
        for path in sorted(SOURCE.rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if "testing" not in path.parts and READS.search(line)
    }
    assert found == {name for name in OWN_FILES if (SOURCE / name).is_file()}
