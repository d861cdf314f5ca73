"""Ports: a free one, whether one is listened on, and by whom."""

import socket
from pathlib import Path

import psutil

_LISTEN = "0A"
"""State TCP_LISTEN in /proc/net/tcp."""
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


def free_port() -> int:
    """A port of the loopback interface that nothing is bound to now.

    Another process may take it before the server does; waiting for readiness finds that out.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def listening(port: int) -> bool:
    """Whether any process of this network namespace listens on the TCP port, on any address.

    Read from the kernel's tables: the server under trial sees no connection. A port that
    only waits out a closed connection (TIME_WAIT) is not listened on.
    """
    return any(port in _listeners(table) for table in _TABLES)


def owner_pids(port: int) -> set[int] | None:
    """The processes that listen on the TCP port.

    Returns:
        Their pids, one for a socket that several processes share; empty when nobody listens;
        None when the owner of a listening socket can't be known (it belongs to another user).
    """
    try:
        found = psutil.net_connections(kind="tcp")
    except (psutil.Error, OSError):
        return None
    pids = {
        row.pid for row in found if row.status == psutil.CONN_LISTEN and row.laddr and row.laddr.port == port
    }
    return None if None in pids else pids


def ports_of(pids: set[int]) -> set[int]:
    """The TCP ports that these processes listen on, as far as can be known."""
    try:
        found = psutil.net_connections(kind="tcp")
    except (psutil.Error, OSError):
        return set()
    return {row.laddr.port for row in found if row.status == psutil.CONN_LISTEN and row.pid in pids}


def _listeners(table: Path) -> set[int]:
    try:
        lines = table.read_text(encoding="ascii").splitlines()[1:]
    except FileNotFoundError:
        return set()  # no IPv6 on this host
    rows = (line.split() for line in lines)
    return {int(row[1].rpartition(":")[2], 16) for row in rows if len(row) > 3 and row[3] == _LISTEN}
