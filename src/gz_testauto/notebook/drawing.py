"""Drawings and animations that notebooks show."""

import base64
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

from gz_testauto.base.disk import read_file
from gz_testauto.report.plots import save_figure


@dataclass(frozen=True)
class Picture:
    """A drawing; ``figure`` is a figure of matplotlib."""

    figure: Any

    def save(self, path: Union[str, Path], dots_per_inch: int = 150) -> None:
        """Write the drawing to a file, in the format of its suffix."""
        save_figure(self.figure, Path(path), dots_per_inch)

    def _repr_png_(self) -> bytes:
        stream = io.BytesIO()
        self.figure.savefig(stream, format="png", dpi=100)
        return stream.getvalue()


@dataclass(frozen=True)
class Animation:
    """An animation in the file ``path``."""

    path: Path

    def _repr_html_(self) -> str:
        data = base64.b64encode(read_file(self.path)).decode()
        if self.path.suffix == ".gif":
            return f'<img alt="animation" src="data:image/gif;base64,{data}">'
        return f'<video controls src="data:video/mp4;base64,{data}"></video>'
