"""A real PostgreSQL server for tests, on a free port of this machine, gone when the tests are."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path


def programs() -> Path | None:
    """The folder of the newest server's programs, or nothing where none is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


@contextlib.contextmanager
def server() -> Iterator[str]:
    """Start a server of its own; gives the URL of its database. The server refuses to be root, so root lends it a user."""
    folder = programs()
    assert folder is not None
    owner = pwd.getpwnam("postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name)
    base = Path(tempfile.mkdtemp(prefix="entropie-pg-", dir="/tmp"))  # short: the path of a socket has a limit
    os.chown(base, owner.pw_uid, owner.pw_gid)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def run(*command: str) -> None:
        as_owner = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []} if os.getuid() == 0 else {}
        subprocess.run(command, check=True, cwd=base, stdout=subprocess.DEVNULL, **as_owner)  # type: ignore[call-overload]

    options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={base} -c max_connections=60"
    try:
        run(
            str(folder / "initdb"), "-D", str(base / "data"), "-U", "entropie", "-A", "trust", "--no-sync", "-E", "UTF8"
        )
        run(str(folder / "pg_ctl"), "-D", str(base / "data"), "-w", "-l", str(base / "log"), "-o", options, "start")
        try:
            yield f"postgresql://entropie@127.0.0.1:{port}/postgres"
        finally:
            run(str(folder / "pg_ctl"), "-D", str(base / "data"), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(base, ignore_errors=True)
