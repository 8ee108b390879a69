"""Serve the page of a running campaign for a browser on this machine.

The server listens only on the loopback address, and answers GET and HEAD of ``/``, the page, and
``/version``, which the page polls for new results. It only reads the results directory.
"""

import html
import os
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Tuple

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.report.page.page import PageMaker
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.opened import OpenedResults

LOOPBACK = "127.0.0.1"
_TIMEOUT_S = 30.0


class PageServer(ThreadingHTTPServer):
    """A server of the page. If ``port`` is 0, a free port is selected. Raises ``OSError`` if the
    port is in use."""

    daemon_threads = True

    def __init__(self, opened: OpenedResults, port: int) -> None:
        self._place = CampaignDirectory(opened.path)
        self._place.require_begun()
        self._maker = PageMaker(opened, live=True)
        self._making = threading.Lock()
        self._made_page: Tuple[str, bytes] = ("", b"")
        super().__init__((LOOPBACK, port), _Handler)

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.server_address[1]}/"

    def version(self) -> str:
        """Return a text that changes when the results change."""
        try:
            status = os.stat(self._place.results)
        except OSError:
            return "none"
        return f"{status.st_ino}-{status.st_mtime_ns}-{status.st_size}"

    def page(self) -> bytes:
        with self._making:
            version = self.version()
            if self._made_page[0] != version:
                try:
                    text = self._maker.make().html
                except GzTestautoError as error:
                    text = _NOT_YET.format(html.escape(str(error)))
                    return text.encode("utf-8")
                self._made_page = (version, text.encode("utf-8"))
            return self._made_page[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        # browsers disconnect before they have received the response
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def is_own_host(self, host: str) -> bool:
        # a page of another site could otherwise read the results through its own host name
        port = self.server_address[1]
        return host in (f"{LOOPBACK}:{port}", f"localhost:{port}")


_NOT_YET = (
    '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="3">'
    "<title>not yet</title><p>{}</p></html>"
)


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    timeout = _TIMEOUT_S
    server_version = "gz_testauto"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, with_body: bool) -> None:
        if not self.server.is_own_host(self.headers.get("Host", "")):
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        if self.path == "/":
            content, kind = self.server.page(), "text/html; charset=utf-8"
        elif self.path == "/version":
            content, kind = self.server.version().encode("ascii"), "text/plain"
        else:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if with_body:
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Do not log requests."""
