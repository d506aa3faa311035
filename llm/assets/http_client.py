"""urllib as pip would use it: pip's certificates, proxy and credentials in URLs."""

from __future__ import annotations

import base64
import functools
import http.client
import os
import ssl
import urllib.error
import urllib.parse
import urllib.request
from urllib.response import addinfourl

from llm.assets import pip_settings

TIMEOUT_S = 30

Answer = addinfourl | http.client.HTTPResponse
# What a broken network looks like. Errors of the local file system are no part of it: they are not retried.
ERRORS = (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError, ssl.SSLError)


def get(url: str, headers: dict[str, str]) -> Answer:
    """Opens `url` (http, https or file) for reading; credentials in it are sent as basic authentication."""
    request = urllib.request.Request(without_credentials(url), headers=headers)
    parts = urllib.parse.urlsplit(url)
    if parts.username:
        words = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        # Unredirected: another host that the index points to must not see them.
        request.add_unredirected_header("Authorization", "Basic " + base64.b64encode(words.encode()).decode())
    return _opener().open(request, timeout=TIMEOUT_S)


def without_credentials(url: str) -> str:
    """The URL as it may be sent and shown."""
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def public(url: str) -> str:
    """Scheme and host of the URL, for messages."""
    parts = urllib.parse.urlsplit(without_credentials(url))
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else url


def reason(error: Exception) -> str:
    """The error in a few words."""
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answered {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return f"no connection ({error.reason})"
    return f"the connection broke ({error or type(error).__name__})"


@functools.cache
def _opener() -> urllib.request.OpenerDirector:
    settings = pip_settings.read()
    handlers: list[urllib.request.BaseHandler] = [urllib.request.HTTPSHandler(context=_context(settings.cert))]
    if settings.proxy:
        handlers.append(urllib.request.ProxyHandler({"http": settings.proxy, "https": settings.proxy}))
    return urllib.request.build_opener(*handlers)


def _context(cert: str | None) -> ssl.SSLContext:
    if cert is None or not os.path.exists(cert):
        return ssl.create_default_context()
    if os.path.isdir(cert):
        return ssl.create_default_context(capath=cert)
    return ssl.create_default_context(cafile=cert)
