"""What pip is told on this machine, in files and environment: its indexes, certificates and proxy."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys

import attrs

DEFAULT_INDEX = "https://pypi.org/simple"


@attrs.frozen(kw_only=True)
class PipSettings:
    """The part of pip's configuration that says where packages come from."""

    indexes: tuple[str, ...] = (DEFAULT_INDEX,)
    find_links: tuple[str, ...] = ()
    cert: str | None = None
    proxy: str | None = None


@functools.cache
def read() -> PipSettings:
    """The settings in force, as `pip config list` gives them; pip's defaults where there is no pip."""
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"],
        capture_output=True,
        text=True,
        check=False,
    )
    return parse(listing.stdout if listing.returncode == 0 else "")


def parse(listing: str) -> PipSettings:
    """Settings out of lines such as `global.index-url='https://...'` and `:env:.cert='...'`."""
    values: dict[str, str] = {}
    for line in listing.splitlines():
        name, equals, text = line.partition("=")
        if equals:
            values[name.strip()] = ast.literal_eval(text)

    def setting(name: str) -> str:
        # The environment beats the section of the command, which beats the general one.
        return next((values[key] for s in (":env:", "download", "global") if (key := f"{s}.{name}") in values), "")

    indexes = (setting("index-url") or DEFAULT_INDEX, *setting("extra-index-url").split())
    if setting("no-index").lower() in ("1", "true", "yes", "on"):
        indexes = ()
    return PipSettings(
        indexes=indexes,
        find_links=tuple(setting("find-links").split()),
        cert=setting("cert") or None,
        proxy=setting("proxy") or None,
    )
