"""A socket to serve at, or one clear line why there is none."""

import socket

from lengthwise.errors import InputError

MAX_PORT = 65_535


def listen(host: str, port: int) -> socket.socket:
    if not 0 <= port <= MAX_PORT:
        raise InputError(f"port {port} is out of range: allowed is 0 to {MAX_PORT}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        # From here on a browser that comes early waits instead of being refused.
        listening.listen()
    except OSError as error:
        raise InputError(
            f"cannot serve at {host} port {port}: {error.strerror}; --port 0 takes any free port"
        ) from None
    return listening
