"""The search and download of models, and the files of models in an output."""

import http.server
import io
import json
import tarfile
import threading
import zipfile

import pytest

from gz_testauto.base.errors import ResourceError, SpecError
from gz_testauto.extras.scenic.descriptor import load_descriptor
from gz_testauto.extras.scenic.library import models_of
from gz_testauto.extras.scenic.model_search import ModelSearch, cache_directory, download_model
from gz_testauto.extras.scenic.packing import ModelPack

MODEL = '<sdf version="1.6"><model name="m"><link name="l">{inside}</link></model></sdf>'


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("GAZEBO_MODEL_PATH", str(tmp_path / "path"))
    monkeypatch.setenv("GAZEBO_MODEL_DATABASE_URI", "http://127.0.0.1:9")
    return cache_directory()


@pytest.fixture
def server():
    """A server on loopback; ``server.files`` has what it gives by path."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            content = served.files.get(self.path)
            self.send_response(404 if content is None else 200)
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *arguments):
            pass

    served = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    served.files = {}
    served.address = f"http://127.0.0.1:{served.server_port}"
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    yield served
    served.shutdown()
    served.server_close()
    thread.join(10)


def zipped(**files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return stream.getvalue()


def tarred(files):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return stream.getvalue()


def search_of(tmp_path, **options):
    path = tmp_path / "models.yaml"
    path.write_text("models_dir: parts\nmodels: [{name: cup, type: GAZEBO_MODEL}]")
    (tmp_path / "parts").mkdir(exist_ok=True)
    descriptor = load_descriptor(path)
    return ModelSearch(descriptor, **options), descriptor.models[0]


def test_models_are_searched_in_models_dir_before_model_path_and_cache(tmp_path, cache):
    search, cup = search_of(tmp_path)
    for place in (cache, tmp_path / "path", tmp_path / "parts"):
        (place / "cup").mkdir(parents=True)
        assert search.find(cup) == place / "cup"


def test_a_missing_model_is_not_downloaded_without_the_option_download(tmp_path, cache):
    search, cup = search_of(tmp_path)
    (tmp_path / "parts" / "Cup").mkdir()
    with pytest.raises(ResourceError, match=r"did you mean 'Cup'.*GAZEBO_MODEL_PATH.*--download"):
        search.find(cup)


def test_each_missing_model_is_reported_with_its_line(tmp_path, cache):
    path = tmp_path / "models.yaml"
    path.write_text(
        "models:\n  - {name: goal, type: MISSION_ONLY}\n  - {name: cup, type: GAZEBO_MODEL}\n"
        "  - type: CUSTOM_MODEL\n    name: jug\n"
    )
    descriptor = load_descriptor(path)
    with pytest.raises(SpecError) as refused:
        models_of(descriptor, ModelSearch(descriptor), str(path))
    said = refused.value.full
    assert f"{path}:3: models[1].name: model 'cup' was not found" in said
    assert f"{path}:5: models[2].name: model 'jug' was not found" in said


def test_a_failed_download_reports_each_address(tmp_path, cache):
    search, cup = search_of(tmp_path, download=True)
    with pytest.raises(ResourceError, match=r"127.0.0.1:9/cup/model.tar.gz: .*check the network"):
        search.find(cup)


def test_a_downloaded_model_is_stored_with_its_checksum(tmp_path, cache, server, monkeypatch):
    monkeypatch.setenv("GAZEBO_MODEL_DATABASE_URI", server.address)
    server.files["/cup/model.tar.gz"] = tarred({"cup/model.sdf": "<sdf/>", "cup/a/b.png": "x"})
    search, cup = search_of(tmp_path, download=True)
    assert search.find(cup) == cache / "cup"
    assert (cache / "cup" / "a" / "b.png").read_text() == "x"
    assert len(json.loads((cache / "cup.json").read_text())["sha256"]) == 64


def test_a_downloaded_model_with_changed_content_is_rejected(cache, server):
    server.files["/cup.zip"] = zipped(**{"model.sdf": "<sdf/>"})
    place = download_model("cup", f"{server.address}/cup.zip", cache)
    (place / "model.sdf").unlink()
    place.rmdir()
    server.files["/cup.zip"] = zipped(**{"model.sdf": "<sdf>other</sdf>"})
    with pytest.raises(ResourceError, match="has changed"):
        download_model("cup", f"{server.address}/cup.zip", cache)


@pytest.mark.parametrize("name", ["../evil.sdf", "/evil.sdf"])
def test_an_archive_with_a_path_outside_the_model_is_rejected(cache, server, name):
    server.files["/cup.zip"] = zipped(**{"model.sdf": "<sdf/>", name: "x"})
    with pytest.raises(ResourceError, match="outside the model"):
        download_model("cup", f"{server.address}/cup.zip", cache)
    assert not (cache / "cup").exists()


def test_a_model_url_without_http_is_rejected(cache):
    with pytest.raises(ResourceError, match="must start with http"):
        download_model("cup", "file:///etc/passwd", cache)


def add(folder, name, inside):
    (folder / name).mkdir(parents=True)
    (folder / name / "model.sdf").write_text(MODEL.format(inside=inside))
    return folder / name


def mesh(uri):
    return f'<collision name="c"><geometry><mesh><uri>{uri}</uri></mesh></geometry></collision>'


def test_files_to_which_a_model_refers_are_copied_with_it(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.stl").write_text("solid")
    (tmp_path / "elsewhere" / "a.png").write_text("picture")
    add(tmp_path, "other", "")
    cup = add(tmp_path, "cup", mesh("model://other/model.sdf") + mesh("../elsewhere/a.stl"))
    pack = ModelPack([tmp_path])
    pack.add_model(cup)
    assert {"models/cup/model.sdf", "models/cup/model.config", "models/other/model.sdf"} <= set(
        pack.files
    )
    written = pack.files["models/cup/model.sdf"].decode()
    assert "../elsewhere" not in written
    moved = written.split("model://file_")[1].split("/")[0]
    assert f"models/file_{moved}/a.stl" in pack.files
    assert f"models/file_{moved}/a.png" in pack.files


def test_a_missing_texture_of_a_model_is_reported(tmp_path):
    pack = ModelPack([tmp_path])
    pack.add_model(add(tmp_path, "cup", mesh("model://nowhere/a.stl")))
    assert "model://nowhere/a.stl was not found" in pack.notes[0]
