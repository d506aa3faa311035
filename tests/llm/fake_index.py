"""A package index on 127.0.0.1 with one small wheel, which can be told to misbehave."""

from __future__ import annotations

import hashlib
import io
import json
import re
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from llm.assets import Asset

CONTENT = bytes(range(256)) * 1024


def wheel_with(content: bytes, name: str = "llm_tiny/tiny.gguf") -> bytes:
    """The bytes of a wheel that holds one file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


class FakeIndex:
    """Serves `wheel`; the fields say how the next answers differ from a good server's."""

    def __init__(self) -> None:
        self.wheel = wheel_with(CONTENT)
        self.html = False
        self.ranges = True
        self.status = 200
        self.cut_after: list[int] = []  # bytes after which each of the next answers breaks off
        self.requests: list[str | None] = []  # the Range header of each request for the wheel
        self.asked = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The index URL, as pip's index-url."""
        return f"http://127.0.0.1:{self._server.server_port}/simple"

    def asset(self) -> Asset:
        """What a good download of the wheel, as it is now, looks like."""
        return Asset(
            project="llm-tiny",
            version="1.0",
            wheel="llm_tiny-1.0-py3-none-any.whl",
            wheel_bytes=len(self.wheel),
            wheel_sha256=hashlib.sha256(self.wheel).hexdigest(),
            file="tiny.gguf",
            file_bytes=len(CONTENT),
            file_sha256=hashlib.sha256(CONTENT).hexdigest(),
        )

    def close(self) -> None:
        """Stops answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(index: FakeIndex) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                index.asked += 1
                if index.status != 200:
                    self.send_error(index.status)
                elif self.path == "/simple/llm-tiny/":
                    self._page()
                elif self.path == "/files/llm_tiny-1.0-py3-none-any.whl":
                    self._file()
                else:
                    self.send_error(404)

            def _page(self) -> None:
                name = "llm_tiny-1.0-py3-none-any.whl"
                if index.html:
                    kind = "text/html"
                    text = f'<html><body><a href="../../files/{name}#sha256=0">{name}</a></body></html>'
                else:
                    kind = "application/vnd.pypi.simple.v1+json"
                    file = {"filename": name, "url": f"/files/{name}", "hashes": {}}
                    text = json.dumps({"meta": {"api-version": "1.0"}, "name": "llm-tiny", "files": [file]})
                self._answer(200, kind, text.encode(), {})

            def _file(self) -> None:
                wanted = self.headers.get("Range")
                index.requests.append(wanted)
                found = re.fullmatch(r"bytes=(\d+)-", wanted or "")
                if found is None or not index.ranges:
                    self._answer(200, "application/zip", index.wheel, {}, cut=True)
                elif (start := int(found[1])) >= len(index.wheel):
                    self.send_error(416)
                else:
                    end = len(index.wheel)
                    extra = {"Content-Range": f"bytes {start}-{end - 1}/{end}"}
                    self._answer(206, "application/zip", index.wheel[start:], extra, cut=True)

            def _answer(self, status: int, kind: str, body: bytes, extra: dict[str, str], cut: bool = False) -> None:
                self.send_response(status)
                for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **extra}.items():
                    self.send_header(name, value)
                self.end_headers()
                if cut and index.cut_after:
                    body = body[: index.cut_after.pop(0)]
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler
