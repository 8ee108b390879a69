"""The models and other files of worlds, as a folder ``models/`` that can be moved with the worlds.
References contain no absolute path."""

import os
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Union

from gz_testauto.base import resources
from gz_testauto.base.disk import hash_file
from gz_testauto.base.errors import ResourceError, SdfError
from gz_testauto.extras.scenic.descriptor import load_descriptor
from gz_testauto.extras.scenic.model_search import ModelSearch
from gz_testauto.sdf.document import Element, SdfDocument

FOLDER = "models"
MOST_BYTES = 500_000_000  # largest size of a folder; a larger one is probably not that of a model
_BESIDE = (".png", ".jpg", ".jpeg", ".mtl", ".tga", ".dds")  # files to which a mesh can refer
_CONFIG = (
    '<?xml version="1.0"?>\n<model>\n  <name>{name}</name>\n  <version>1.0</version>\n'
    '  <sdf version="{version}">{file}</sdf>\n</model>\n'
)


def packed_models(models: Path) -> "ModelPack":
    """Return all files that the worlds of a model descriptor can need."""
    descriptor = load_descriptor(models)
    search = ModelSearch(descriptor)
    pack = ModelPack(search.model_path)
    for model in descriptor.models:
        if not model.mission_only:
            pack.add_model(search.find(model))
    if descriptor.world is not None:
        document = pack.read(descriptor.world)
        pack.settle(document, document.root)
    return pack


class ModelPack:
    """Files by their path in the output directory, such as ``models/table/model.sdf``."""

    def __init__(self, model_path: Sequence[Path]) -> None:
        self._model_path = tuple(model_path)
        self._folders: Dict[str, Path] = {}
        self.files: Dict[str, Union[Path, bytes]] = {}
        self.notes: List[str] = []

    def add_model(self, directory: Path) -> None:
        """Add a model, and all models to which its SDF refers."""
        name = directory.name
        if name in self._folders:
            if self._folders[name] != directory:
                raise ResourceError(
                    f"two models have the name {name!r}: {self._folders[name]} and {directory}; "
                    "rename one folder"
                )
            return
        self._folders[name] = directory
        inner_paths, size = [], 0
        for path in sorted(directory.rglob("*")):
            inside = path.relative_to(directory)
            if path.is_file() and not any(part.startswith(".") for part in inside.parts):
                size += path.stat().st_size
                inner_paths.append(inside)
        if size > MOST_BYTES:
            raise ResourceError(
                f"{directory}: the folder has {size} bytes, which exceeds the limit of "
                f"{MOST_BYTES} bytes; remove files that do not belong to the model"
            )
        for inside in inner_paths:
            self.files[f"{FOLDER}/{name}/{inside.as_posix()}"] = directory / inside
        sdf = resources.model_file(directory)
        document = self.read(sdf)
        self.settle(document, document.root)
        place = f"{FOLDER}/{name}/{sdf.relative_to(directory).as_posix()}"
        self.files[place] = document.to_bytes()
        if not (directory / "model.config").is_file():
            version = document.root.get("version")
            config = _CONFIG.format(name=name, version=version, file=sdf.name)
            self.files[f"{FOLDER}/{name}/model.config"] = config.encode()

    def read(self, path: Path) -> SdfDocument:
        document = SdfDocument.read(path, repair=True)
        self.notes += [f"{path}: repaired {repair}" for repair in document.repairs]
        return document

    def settle(self, document: SdfDocument, element: Element) -> None:
        """Rewrite the URIs below ``element`` to files in ``models/``, and add these files. An
        unknown URI is only noted, but ``SdfError`` is raised for that of an ``<include>``."""
        for uri in element.iter("uri"):
            text = (uri.text or "").strip()
            settled = self._packed_uri(document, uri, text) if text else None
            if settled is not None and settled != text:
                uri.text = settled

    def add_file(self, path: Path) -> str:
        """Add a file with all textures and materials next to it, and return its URI."""
        digest = hash_file(path)[:12]
        folder = f"file_{digest}"
        self.files[f"{FOLDER}/{folder}/{path.name}"] = path
        for neighbor in sorted(path.parent.iterdir()):
            if neighbor.suffix.lower() in _BESIDE and neighbor.is_file():
                self.files[f"{FOLDER}/{folder}/{neighbor.name}"] = neighbor
        return f"model://{folder}/{path.name}"

    def _packed_uri(self, document: SdfDocument, uri: Element, text: str) -> Optional[str]:
        """Return the new URI of a file, which is added, or None if the URI remains unchanged."""
        if text.startswith("file://media") or text.startswith("__default__"):
            return None  # a file of Gazebo itself
        try:
            path = resources.resolve(text, document.directory, self._model_path)
        except ResourceError:
            path = None
        if path is None or not os.path.exists(path):
            if uri.getparent().tag == "include":
                raise SdfError(f"{document.where(uri)}: {text} was not found")
            self.notes.append(f"{document.where(uri)}: {text} was not found and is unchanged")
            return None
        for name, folder in self._folders.items():
            if path == folder or folder in path.parents:
                inner_path = path.relative_to(folder).as_posix()
                is_own_file = document.directory == folder and "://" not in text
                return None if is_own_file else f"model://{name}/{inner_path}".rstrip("/.")
        folders = (path, *path.parents)
        names = ("model.config", "model.sdf")
        model_folder = next(
            (f for f in folders if any((f / name).is_file() for name in names)), None
        )
        if model_folder is not None:
            self.add_model(model_folder)
            inner_path = path.relative_to(model_folder).as_posix()
            return f"model://{model_folder.name}/{inner_path}".rstrip("/.")
        return self.add_file(path) if path.is_file() else None


def mesh_model(name: str, mesh: bytes) -> Dict[str, bytes]:
    sdf = (
        f'<?xml version="1.0"?>\n<sdf version="1.6">\n  <model name="{name}">\n'
        '    <static>true</static>\n    <link name="link">\n'
        + "".join(
            f'      <{kind} name="{kind}"><geometry><mesh><uri>model://{name}/meshes/shape.stl'
            f"</uri></mesh></geometry></{kind}>\n"
            for kind in ("collision", "visual")
        )
        + "    </link>\n  </model>\n</sdf>\n"
    )
    return {
        f"{FOLDER}/{name}/model.config": _CONFIG.format(
            name=name, version="1.6", file="model.sdf"
        ).encode(),
        f"{FOLDER}/{name}/model.sdf": sdf.encode(),
        f"{FOLDER}/{name}/meshes/shape.stl": mesh,
    }
