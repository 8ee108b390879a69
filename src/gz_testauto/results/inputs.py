"""The files that decide a campaign's trials and that its YAML file does not name."""

import inspect
import os
from pathlib import Path
from typing import Dict

from gz_testauto.errors import GzTestautoError, ResourceError, SpecError
from gz_testauto.planners import PLANNERS
from gz_testauto.results.manifest import file_sha256
from gz_testauto.scenic.imports import named_files
from gz_testauto.scenic.packing import packed_models
from gz_testauto.sdf.robot import RobotBody, RobotModel
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec, StackCampaignSpec
from gz_testauto.spec.descriptor import load_descriptor
from gz_testauto.trial.launch_files import launch_inputs
from gz_testauto.worlds.manifest import sha256_of
from gz_testauto.xml_file import parse_xml

PLANNER_CODE = "code of planner "


def further_files(spec: CampaignSpec, robot: RobotBody) -> Dict[str, str]:
    """Hashes of the files that decide trials and that the campaign does not name: what the
    robot's model refers to, what a scenario imports and the models that it may place, the launch
    files of a stack, and the code of this package's planners (:data:`PLANNER_CODE` in front)."""
    found = {}
    if isinstance(spec, StackCampaignSpec):
        found = {name: file_sha256(path) for name, path in launch_inputs(spec).items()}
    if isinstance(spec, BuiltinCampaignSpec):
        found = _planner_code(spec)
    if spec.worlds.models is not None:
        found.update(_placed_files(spec.worlds.models))
    if spec.worlds.scenic is not None:
        for name, path in named_files(spec.worlds.scenic).items():
            found[f"worlds.scenic/{name}"] = file_sha256(path)
    if isinstance(robot, RobotModel):
        found.update(_model_files(robot))
    return found


def _planner_code(spec: BuiltinCampaignSpec) -> Dict[str, str]:
    found = {}
    for entry in spec.planners:
        try:
            source = inspect.getsourcefile(PLANNERS.get(entry.plugin))
        except (GzTestautoError, TypeError):  # told when the executor is made
            continue
        if source is not None:
            found[PLANNER_CODE + entry.plugin] = file_sha256(Path(source))
    return found


def _placed_files(models: Path) -> Dict[str, str]:
    """What worlds of a descriptor are made of, by its name among them."""
    try:
        files = dict(packed_models(models).files)
        base = load_descriptor(models).world
    except ResourceError as error:
        raise SpecError(f"{models}: {error}") from error
    if base is not None:
        files[base.name] = base
    return {
        f"worlds.models/{name}": sha256_of(held) if isinstance(held, bytes) else file_sha256(held)
        for name, held in files.items()
    }


def _model_files(robot: RobotModel) -> Dict[str, str]:
    found = {}
    for element in parse_xml(robot.sdf.encode("utf-8")).iter("uri"):
        path = Path((element.text or "").strip().replace("file://", "", 1))
        if os.path.isfile(path):
            found[f"robot/{path.name}"] = file_sha256(path)
    return found
