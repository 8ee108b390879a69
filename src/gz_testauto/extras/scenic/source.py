"""Single worlds from a Scenic program, a model descriptor and a seed. World *i* depends only on the
seed and *i*."""

import functools
import hashlib
import json
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy
import scipy
import shapely

from gz_testauto import __version__
from gz_testauto.base.disk import hash_file, with_input
from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose
from gz_testauto.extras.scenic.descriptor import load_descriptor
from gz_testauto.extras.scenic.imports import named_files
from gz_testauto.extras.scenic.library import PlacedModel, library_text, models_of
from gz_testauto.extras.scenic.model_search import ModelSearch
from gz_testauto.extras.scenic.names import SceneName
from gz_testauto.extras.scenic.packing import ModelPack
from gz_testauto.extras.scenic.plan_view import plan_view
from gz_testauto.extras.scenic.program import Program, compile_program
from gz_testauto.extras.scenic.spec import ProgramSpec
from gz_testauto.extras.scenic.world_file import (
    WorldWriter,
    check_size,
    mass_kg,
    model_pose,
    scenic_pose,
    size_of,
)
from gz_testauto.sampling.seeds import SCENARIO, WORLD, child_seed
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.missing import without_missing_hint
from gz_testauto.sdf.scene import read_scene
from gz_testauto.sdf.state import apply_state
from gz_testauto.worlds.manifest import sha256_of
from gz_testauto.worlds.record import ObstacleRecord, generated_name

FREE_M = 1e-9  # a height that differs less from the key ``z`` equals it
DIGITS = 12  # decimal places of a mission; further digits are rounding errors

Mission = Dict[str, List[Dict[str, float]]]
"""Mission items of a world in GzScenic's format, ``{type: [{heading, x, y, z}]}``, in the order of
the program. ``heading`` is the yaw (rad) of the item as in ROS. ``z`` is the height (m) of the
surface below the item, or the key ``z`` of the descriptor."""

EMPTY_WORLD = """\
<?xml version="1.0"?>
<sdf version="1.6">
  <world name="default">
    <include>
      <uri>model://sun</uri>
    </include>
    <include>
      <uri>model://ground_plane</uri>
    </include>
  </world>
</sdf>
"""


@dataclass(frozen=True, eq=False)
class ScenicWorld:
    """A generated world that is not written yet.

    ``files`` are further files of this world only, by path. ``objects`` include mission items.
    ``draws`` is the number of scenes until one was valid.
    """

    index: int
    name: str
    content: bytes
    files: Mapping[str, bytes]
    mission: Mission
    objects: Tuple[Tuple[SceneName, Any], ...]
    obstacles: Tuple[ObstacleRecord, ...]
    parameters: Mapping[str, Any]
    draws: int


@dataclass(frozen=True, eq=False)
class DynamicObject:
    """An object of a dynamic scene.

    ``name`` is None for a mission item. ``origin`` is the initial pose of the model, ``middle``
    that of the object's center in Scenic's axes. An agent has a behavior.
    """

    name: Optional[str]
    origin: Pose
    middle: Pose
    has_behavior: bool


@dataclass(frozen=True, eq=False)
class DynamicScene:
    """A dynamic scene: Scenic's own ``scene``, its ``objects`` in the same order, and a world with
    all ``agents``."""

    program: Program
    scene: Any
    objects: Tuple[DynamicObject, ...]
    agents: bytes


class ScenicSource:
    """A source of the worlds of one Scenic program.

    If ``keep`` is True, valid objects are kept and the others are drawn again, which changes the
    distribution. ``download`` allows the download of missing models. ``chosen`` is the name of one
    of several modular scenarios in the file. The worlds of a ``dynamic`` scenario do not contain
    the agents, which :meth:`dynamic_scene` returns.
    """

    def __init__(
        self,
        scenario: Path,
        models: Path,
        seed: int,
        parameters: Optional[Mapping[str, Any]] = None,
        *,
        keep: bool = False,
        download: bool = False,
        chosen: Optional[str] = None,
        pruning: bool = True,
        dynamic: bool = False,
    ) -> None:
        if seed < 0:
            raise SpecError(f"seed is {seed}; it must be at least 0")
        self._arguments = (Path(scenario), Path(models), seed, dict(parameters or {}))
        self._options: Dict[str, Any] = {
            "keep": keep,
            "download": download,
            "chosen": chosen,
            "pruning": pruning,
            "dynamic": dynamic,
        }
        self.scenario, self.seed, self._keep = Path(scenario), seed, keep
        self._parameters, self._chosen = dict(parameters or {}), chosen
        self._dynamic = dynamic
        descriptor = load_descriptor(Path(models))
        search = ModelSearch(descriptor, download)
        self.models: Dict[str, PlacedModel] = models_of(descriptor, search, str(models))
        self._model_path = search.model_path
        self._pack = ModelPack(search.model_path)
        for model in self.models.values():
            if model.directory is not None:
                self._pack.add_model(model.directory)
        with without_missing_hint("or remove it from a copy of that world"):
            base = _base_world(descriptor.world, self._pack, search)
            self._base_names = list(read_scene(base, self._search_path(), repair=True).models)
        self.program: Program = compile_program(
            self.scenario,
            self.models,
            child_seed(seed, SCENARIO),
            self._parameters,
            chosen,
            pruning,
            dynamic,
        )
        self._writer = WorldWriter(
            base, self.models, self._pack, self._search_path(), str(self.scenario)
        )
        self._sampler = self._create_sampler()
        self._descriptor_sha256 = _sha256(Path(models))

    @classmethod
    def of_spec(cls, spec: ProgramSpec, seed: int, dynamic: bool = False) -> "ScenicSource":
        keep = spec.keep_placed
        return cls(spec.file, spec.models, seed, spec.parameters, keep=keep, dynamic=dynamic)

    def __reduce__(self) -> Tuple[Any, ...]:
        # another process reads and compiles the files itself
        return functools.partial(type(self), **self._options), self._arguments

    def _search_path(self) -> Tuple[Path, ...]:
        parents = [model.directory.parent for model in self.models.values() if model.directory]
        return tuple(dict.fromkeys([*parents, *self._model_path]))

    def _create_sampler(self) -> Any:
        from gz_testauto.extras.scenic.names import names_of
        from gz_testauto.extras.scenic.sampler import SceneSampler

        objects = self.program.scenario.objects
        for obj in objects:
            self._check_model(obj)
        names = names_of(objects, self._base_names)
        for name, obj in zip(names, objects):
            if obj.gz_model is not None and obj._hasStaticBounds:
                check_size(name, obj, self.models[obj.gz_model], str(self.scenario))
        return SceneSampler(self.program, names, self._keep, self._dynamic)

    def _check_model(self, obj: Any) -> None:
        model = obj.gz_model
        if model is not None and not (isinstance(model, str) and model in self.models):
            raise SpecError(
                f"{obj._place or self.scenario}: gz_model of a {type(obj).__name__} is {model!r}; "
                "it must be the name of a model in the descriptor, which must not be random"
            )

    @property
    def notes(self) -> Tuple[str, ...]:
        """Notes on the program, meshes, models in the ground, and missing files."""
        of_models = [
            note
            for model in self.models.values()
            if model.solid is not None
            for note in model.solid.notes
        ]
        sunk = [note for model in self.models.values() for note in model.notes]
        return tuple(dict.fromkeys([*self.program.notes, *of_models, *sunk, *self._pack.notes]))

    @property
    def shared_files(self) -> Mapping[str, Union[Path, bytes]]:
        """Files that all worlds share, by their path in the output directory."""
        return self._pack.files

    @property
    def inputs(self) -> Dict[str, Any]:
        """All inputs that determine the worlds, except their number."""
        digest = hashlib.sha256()
        for name, content in sorted(self._pack.files.items()):
            checksum = sha256_of(content) if isinstance(content, bytes) else _sha256(content)
            digest.update(f"{name} {checksum}\n".encode())
        named = {name: _sha256(path) for name, path in named_files(self.scenario).items()}
        return {
            **({"named_files_sha256": named} if named else {}),
            **({"dynamic": True} if self._dynamic else {}),
            "seed": self.seed,
            "scenario": self.scenario.name,
            "scenario_sha256": _sha256(self.scenario),
            "descriptor_sha256": self._descriptor_sha256,
            "models_sha256": digest.hexdigest(),
            "parameters": json.loads(json.dumps(self._parameters, sort_keys=True, default=str)),
            "chosen": self._chosen,
            "keep": self._keep,
            "versions": {
                "gz_testauto": __version__,
                "scenic": metadata.version("scenic"),
                "numpy": numpy.__version__,
                "scipy": scipy.__version__,
                "geos": shapely.geos_version_string,
            },
        }

    def library(self) -> str:
        return library_text(self.models, True, self._dynamic)

    def generate(
        self, index: int, progress: Optional[Callable[[int, int], None]] = None
    ) -> ScenicWorld:
        """Generate a world. Raises ``PlacementError`` with the requirements that fail most
        often."""
        drawn = self._sampler.draw(child_seed(self.seed, WORLD, index), progress)
        content, files, _ = self._writer.write(drawn.objects)
        return ScenicWorld(
            index=index,
            name=generated_name(index),
            content=content,
            files=files,
            mission=_mission_of(drawn.objects, self.models),
            objects=drawn.objects,
            obstacles=tuple(self._obstacle_records(drawn.objects)),
            parameters=drawn.parameters,
            draws=drawn.draws,
        )

    def dynamic_scene(self, index: int, content: bytes) -> DynamicScene:
        """Return the dynamic scene of a world. Raises ``SpecError`` if the program does not
        generate the ``content`` of the stored world file."""
        drawn = self._sampler.draw(child_seed(self.seed, WORLD, index))
        generated, _, elements = self._writer.write(drawn.objects)
        if generated != content:
            raise SpecError(
                f"{self.scenario}: the program no longer generates the stored "
                f"{generated_name(index)}, since the file, Scenic or a library has changed; use "
                "another results directory"
            )
        objects = tuple(self._dynamic_object(name, obj) for name, obj in drawn.objects)
        agents = [elements[obj.name] for obj in objects if obj.has_behavior and obj.name]
        return DynamicScene(self.program, drawn.scene, objects, self._writer.world_of(agents))

    def _dynamic_object(self, name: SceneName, obj: Any) -> DynamicObject:
        model = self.models.get(obj.gz_model)
        origin = scenic_pose(obj) if model is None else model_pose(obj, model)
        in_world = model is None or not model.spec.mission_only
        if obj.behavior is not None and not in_world:
            raise SpecError(
                f"{self.scenario}: the mission item {name.text} has a behavior, but mission items "
                "are not in the world; use a model, or remove the behavior"
            )
        return DynamicObject(
            name.text if in_world else None, origin, scenic_pose(obj), obj.behavior is not None
        )

    def picture(self, world: ScenicWorld) -> Tuple[bytes, bytes]:
        workspace = self.program.scenario.workspace
        return plan_view(world.objects, self.models, workspace, world.name)

    def _obstacle_records(self, objects: Tuple[Tuple[SceneName, Any], ...]) -> Any:
        for name, obj in objects:
            model = self.models.get(obj.gz_model)
            mission_only = model is not None and model.spec.mission_only
            if not name.drawn or mission_only or obj.behavior is not None:
                continue
            pose = scenic_pose(obj) if model is None else model_pose(obj, model)
            x, y, z, roll, pitch, yaw = (float(text) for text in pose.to_text().split())
            width, length, height = size_of(obj)
            yield ObstacleRecord(
                name=name.text,
                type=obj.gz_model or name.label,
                pose=(x, y, z, roll, pitch, yaw),
                size={"width_m": width, "length_m": length, "height_m": height},
                mass_kg=mass_kg(obj, model),
                static=bool(obj.static),
            )


def _mission_of(
    objects: Sequence[Tuple[SceneName, Any]], models: Mapping[str, PlacedModel]
) -> Mission:
    mission: Mission = {}
    for _, obj in objects:
        model = models.get(obj.gz_model)
        if model is None or not model.spec.mission_only:
            continue
        pose = model_pose(obj, model)
        x, y, z = pose.position
        bottom_z = z - float(obj.restHeight)
        if model.spec.z is None or abs(bottom_z - model.spec.z) > FREE_M:
            bottom_z -= float(obj.contactTolerance) / 2
        values = {"heading": pose.yaw_rad, "x": x, "y": y, "z": bottom_z}
        mission.setdefault(model.spec.name, []).append(
            {key: round(value, DIGITS) + 0.0 for key, value in values.items()}
        )
    return mission


def _base_world(path: Optional[Path], pack: ModelPack, search: ModelSearch) -> SdfDocument:
    document = pack.read(path) if path else SdfDocument.parse(EMPTY_WORLD, "<empty world>")
    world = document.world
    if world is None:
        raise SpecError(f"{path}: contains no <world>")
    if world.find("state") is not None:
        apply_state(document, ModelLibrary(search.model_path, repair=True))
    pack.settle(document, document.root)
    return document


def _sha256(path: Path) -> str:
    return with_input(path, SpecError, lambda: hash_file(path))
