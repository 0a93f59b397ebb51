"""Requests that a web page may have sent: a browser sends them to every server that its machine reaches."""

from __future__ import annotations

import ipaddress
import urllib.parse
from collections.abc import Mapping

from .errors import Refusal


def is_loopback(host: str) -> bool:
    """Whether the name or address leads to this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_page(headers: Mapping[str, str], loopback: bool) -> None:
    """Refuses a request that a page of another server may have sent.

    loopback: whether only this machine reaches the server. Then the host that the request names must be this machine, too: a page of
    another server may have a name that has been made to lead here (DNS rebinding).
    """
    host = headers.get("host", "")
    if loopback and host and not is_loopback(_without_port(host)):
        raise _forbidden(f"the header Host is {host!r:.100}; expected localhost or a loopback address")
    origin = headers.get("origin")
    if origin is not None and origin.partition(":")[2].lower() != f"//{host}".lower():
        raise _forbidden(f"a page of {origin!r:.100} sends it; expected a page of this server, or none")
    if headers.get("sec-fetch-site") == "cross-site":
        raise _forbidden("a page of another server sends it; expected a page of this server, or none")


def _without_port(host: str) -> str:
    try:
        return urllib.parse.urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _forbidden(why: str) -> Refusal:
    return Refusal(f"the request is refused, since the server has no token: {why}", 403, "PERMISSION_DENIED")
