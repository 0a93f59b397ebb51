"""A server of deepx instructions over UDP, as a deepx front end expects an executor to be."""

import socket
import sys

from ..errors import CallerError
from .session import checked_seconds

_LARGEST = 65_536  #: bytes of a datagram, and more than any has
_LARGEST_REPLY = 65_507  #: bytes that a datagram over IPv4 holds


class Server:
    """Runs the lines of each datagram in one session, and answers every line by a datagram of its own.

    The answer is "<id> ok", or "<id> error <message>" for a line that failed and therefore changed nothing; the id is that of the line's
    metadata (`//id=7`), else 0. Empty lines get no answer. What `print` shows goes to on_print.

    deadline: seconds after which the lines of a datagram end, so that a loop without an end does not end the server; None: never. The last answer
    is then an error with the id 0, and lines without an answer have had no effect.
    address: "host:port", "[::1]:port" for IPv6; port 0: any that is free.
    """

    def __init__(self, session, address="127.0.0.1:8080", *, on_print=None, deadline=60):
        self._session, self._on_print, self._deadline = session, on_print, checked_seconds("deadline", deadline)
        family, place = _resolved(address)
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        try:
            self._socket.bind(place)
        except OSError:
            self._socket.close()
            raise

    @property
    def address(self):
        """Where the server listens: "127.0.0.1:8080"."""
        host, port = self._socket.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def serve(self):
        """Answers datagrams until an exception such as KeyboardInterrupt comes."""
        while True:
            self.serve_one()

    def serve_one(self):
        """Waits for one datagram and answers it. No datagram makes this raise."""
        try:
            text, client = self._socket.recvfrom(_LARGEST)
        except ConnectionError:  # a former client does not listen any more
            return
        for answer in self.answers(text):
            try:
                self._socket.sendto(answer, client)
            except OSError as error:
                print(f"rondel: no answer could be sent: {error}", file=sys.stderr)

    def answers(self, text):
        """Runs the lines of a datagram, and gives their answers: a list of bytes."""
        found = []
        try:
            self._session.run(
                text, keep_going=True, deadline=self._deadline, on_print=self._on_print,
                on_line=lambda _, about, error: found.append(_answer(about, error)),
            )  # fmt: skip
        except Exception as error:  # whatever comes, the client gets an answer and the next datagram its turn
            found.append(_answer({}, error))
        return found

    def close(self):
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _answer(about, error):
    number = about.get("id") or "0"
    if error is None:
        return f"{number} ok".encode()
    return f"{number} error {' '.join(str(error).split())}".encode("utf-8", "replace")[:_LARGEST_REPLY]


def _resolved(address):
    """The family and the place of "host:port"."""
    host, colon, port = str(address).rpartition(":")
    if not (colon and host and port.isdecimal() and int(port) < 2**16):
        raise CallerError(f"the address is {address!r}; expected HOST:PORT, as in 127.0.0.1:8080")
    try:
        family, _, _, _, place = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM)[0]
    except socket.gaierror as error:
        raise CallerError(f"there is no host {host!r}: {error.strerror}") from None
    return family, place
