"""A server that executes deepx instructions received over UDP, with the protocol that deepx front ends expect."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from ..errors import CallerError
from .session import Session, checked_seconds

_LARGEST = 65_536  #: size of the receive buffer in bytes; no datagram is larger
_LARGEST_REPLY = 65_507  #: the most bytes that a datagram over IPv4 can hold


class Server:
    """Runs the lines of each datagram in one session, and answers each line with a datagram of its own.

    The answer is "<id> ok", or "<id> error <message>" for a line that failed and had no effect. The id comes from the line's metadata
    (`//id=7`); default: 0. Empty lines get no answer. on_print: called with the output of `print`.

    deadline: the most seconds that the lines of one datagram may run, so that an endless loop does not block the server; None: no limit.
    When the deadline passes, the last answer is an error with the id 0, and the lines without an answer have had no effect.
    address: "host:port", or "[::1]:port" for IPv6; port 0: any free port.
    """

    def __init__(
        self,
        session: Session,
        address: str = "127.0.0.1:8080",
        *,
        on_print: Callable[[str], Any] | None = None,
        deadline: float | None = 60,
    ) -> None:
        if not isinstance(session, Session):
            raise CallerError(f"session is a {type(session).__name__}; expected a rondel.deepx.Session")
        self._session, self._on_print, self._deadline = session, on_print, checked_seconds("deadline", deadline)
        family, place = _resolved(address)
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        try:
            self._socket.bind(place)
        except OSError as error:
            self._socket.close()
            raise CallerError(f"the address is {address!r}: {error.strerror or error}") from error

    @property
    def address(self) -> str:
        """The address on which the server listens: "127.0.0.1:8080"."""
        host, port = self._socket.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def serve(self) -> NoReturn:
        """Answers datagrams until an exception such as KeyboardInterrupt is raised."""
        while True:
            self.serve_one()

    def serve_one(self) -> None:
        """Waits for one datagram and answers it. The content of a datagram never raises an exception here."""
        try:
            text, client = self._socket.recvfrom(_LARGEST)
        except ConnectionError:  # an earlier client no longer listens
            return
        for answer in self.answers(text):
            try:
                self._socket.sendto(answer, client)
            except OSError as error:
                print(f"rondel: no answer could be sent: {error}", file=sys.stderr)

    def answers(self, text: bytes) -> list[bytes]:
        """Runs the lines of a datagram and returns their answers: a list of bytes."""
        found = []
        try:
            self._session.run(
                text, keep_going=True, deadline=self._deadline, on_print=self._on_print,
                on_line=lambda _, about, error: found.append(_answer(about, error)),
            )  # fmt: skip
        except Exception as error:  # the client always gets an answer, and the server goes on with the next datagram
            found.append(_answer({}, error))
        return found

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _answer(about, error):
    number = about.get("id") or "0"
    if error is None:
        return f"{number} ok".encode()
    return f"{number} error {' '.join(str(error).split())}".encode("utf-8", "replace")[:_LARGEST_REPLY]


def _resolved(address):
    """(address family, socket address) of "host:port"."""
    host, colon, port = str(address).rpartition(":")
    if not (colon and host and port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) < 2**16):
        raise CallerError(f"the address is {address!r}; expected HOST:PORT, as in 127.0.0.1:8080")
    try:
        family, _, _, _, place = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM)[0]
    except (socket.gaierror, UnicodeError) as error:  # UnicodeError: no name of a host has these characters or this length
        raise CallerError(f"there is no host {host!r}: {getattr(error, 'strerror', error)}") from None
    return family, place
