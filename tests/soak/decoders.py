"""What the collector reads from anybody, by inputs that coverage leads: `scripts/soak decoders`.

    bodies      records of a request's body, against one that takes them apart one by one
    documents   collection documents, by bytes and by values put into a real one: canonical, or refused in a sentence
    parameters  parameter documents, in the same way
    heads       requests in pieces, through the connection of the listener and the reader of bodies: 200 or 4xx

Each runs in a process of its own. The fuzzer, atheris, is installed under out/ the first time; it is no dependency.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[2] / "out" / "atheris"
SECONDS = 300
TARGETS = ("bodies", "documents", "parameters", "heads")
INSTRUMENTED = ["entropie.collector", "entropie.document", "entropie.mechanisms", "uvicorn.protocols", "httptools"]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("target", nargs="*", choices=[[], *TARGETS], help="what to try [all]")
    parser.add_argument("--seconds", type=int, default=SECONDS, help=f"for each [{SECONDS}]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        sys.path.insert(0, str(HERE))
        run(given.target[0], given.seconds, given.seed)
    if not HERE.exists():
        install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(HERE), "atheris"]
        subprocess.run(install, check=True)
    print("| decoder | executions | branches seen | broken |\n|---|---:|---:|---:|")
    broken = 0
    for target in given.target or TARGETS:
        command = [sys.executable, __file__, target, "--inside", "--seconds", str(given.seconds)]
        done = subprocess.run([*command, "--seed", str(given.seed)], capture_output=True, text=True, check=False)
        told = re.findall(r"#(\d+)\s+.*?cov: (\d+)", done.stderr)
        ran = re.findall(r"Done (\d+) runs", done.stderr) or [told[-1][0] if told else "0"]
        print(
            f"| {target} | {int(ran[0]):,} | {told[-1][1] if told else 0} | {int(done.returncode != 0)} |", flush=True
        )
        if done.returncode:
            broken += 1
            print(done.stderr[-4000:], file=sys.stderr, flush=True)
    return int(bool(broken))


def run(target: str, seconds: int, seed: int) -> None:
    """Hand inputs to one of the decoders until the time is up; what escapes it ends the process."""
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED):
        tried, seeds = {"bodies": bodies, "documents": documents, "parameters": parameters, "heads": heads}[target]()
    corpus = Path(tempfile.mkdtemp())
    for number, data in enumerate(seeds):
        (corpus / str(number)).write_bytes(data)
    os.chdir(corpus)
    limits = [f"-max_total_time={seconds}", f"-seed={seed}", "-max_len=8192", "-timeout=60", "-print_final_stats=0"]
    atheris.Setup([sys.argv[0], *limits, str(corpus)], tried)
    atheris.Fuzz()


Tried = tuple[Callable[[bytes], None], list[bytes]]


def bodies() -> Tried:
    from entropie.collector.wire import RECORD_BYTES, decode
    from entropie.errors import InvalidInput

    def tried(data: bytes) -> None:
        cells, body = int.from_bytes(data[:8], "big"), data[8:]
        whole = bool(body) and len(body) % RECORD_BYTES == 0
        try:
            found = decode(body, cells)
        except InvalidInput:
            assert not whole
            return
        assert whole
        parts = [body[place : place + RECORD_BYTES] for place in range(0, len(body), RECORD_BYTES)]
        kept = [(part[:16], int.from_bytes(part[16:], "big")) for part in parts]
        kept = [(nonce, cell) for nonce, cell in kept if cell < cells]
        assert list(zip(found.nonces, found.cells, strict=True)) == kept
        assert found.sent == len(parts)

    return tried, [bytes(7) + b"\x09" + bytes(range(24)) * 3, bytes(8) + b"\xff" * 24]


def _refusable(
    read: Callable[[bytes], Any], whole: bytes, canonical: Callable[[Any], bytes]
) -> Callable[[bytes], None]:
    """The bytes as they are, and as a value in place of one of a document's."""
    from entropie.errors import EntropieError

    fields = json.loads(whole)
    places = [(fields, name) for name in fields] + [(fields["mechanism"], name) for name in fields.get("mechanism", {})]

    def tried(data: bytes) -> None:
        texts = [data]
        if data:
            inside, name = places[data[0] % len(places)]
            before = inside[name]
            try:
                inside[name] = json.loads(data[1:])
                texts.append(json.dumps(fields, sort_keys=True, separators=(",", ":")).encode())
            except (ValueError, RecursionError):
                inside[name] = data[1:].decode(errors="replace")
                texts.append(json.dumps(fields, sort_keys=True, separators=(",", ":")).encode())
            finally:
                inside[name] = before
        for text in texts:
            try:
                made = read(text)
            except EntropieError:
                continue
            assert canonical(made) == text

    return tried


def _document(kind: str) -> Any:
    import datetime

    from entropie.collector.document import create
    from entropie.mechanisms.local_hashing import LocalHashing
    from entropie.mechanisms.randomized_response import RandomizedResponse

    device = RandomizedResponse(domain_size=3, epsilon=2.0)
    if kind == "glh":
        device = LocalHashing(domain_size=30, hash_size=4, epsilon=2.0)  # type: ignore[assignment]
    items = [f"item {number}" for number in range(device.domain_size)]
    day = datetime.date(2026, 1, 1)
    return create(device, title="Drinks", people=50, opens=day, closes=day, items=items)


def documents() -> Tried:
    from entropie.collector.document import read

    whole = [_document(kind).canonical for kind in ("rr", "glh")]
    values = [
        b'"x"',
        b"null",
        b"[]",
        b'["a","b","c"]',
        b'"18446744073709551615"',
        b"1e400",
        b'"\\ud800"',
        b"{}",
        b'"0.5"',
    ]
    placed = [bytes([place]) + value for place in range(16) for value in values]
    return _refusable(read, whole[0], lambda made: made.canonical), [*whole, *placed]


def parameters() -> Tried:
    from entropie.mechanisms.parameters import from_document, to_document

    whole = [to_document(_document(kind).device) for kind in ("rr", "glh")]
    values = [b'"x"', b"null", b'"-1"', b'"18446744073709551616"', b"1e400", b'"rr"', b'"glh"', b'"noise"', b"2"]
    from entropie.errors import EntropieError

    fields = json.loads(whole[1])

    def tried(data: bytes) -> None:
        texts = [data]
        if data:
            name = list(fields)[data[0] % len(fields)]
            try:
                texts.append(json.dumps(fields | {name: json.loads(data[1:])}).encode())
            except (ValueError, RecursionError):
                texts.append(json.dumps(fields | {name: data[1:].decode(errors="replace")}).encode())
        for text in texts:
            try:
                made = from_document(text)
            except EntropieError:
                continue
            assert from_document(to_document(made)) == made

    return tried, [
        *(text.encode() for text in whole),
        *(bytes([place]) + value for place in range(8) for value in values),
    ]


class Wire(asyncio.Transport):
    """What a connection writes, kept."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data: Any) -> None:
        """Keep it."""
        self.written += bytes(data)

    def close(self) -> None:
        """No more."""
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        """Whether there is no more."""
        return self.closed

    def pause_reading(self) -> None:
        """As asked."""

    resume_reading = pause_reading

    def set_protocol(self, protocol: Any) -> None:
        """No other."""


def heads() -> Tried:
    import uvicorn
    from uvicorn.server import ServerState

    from entropie.collector.connection import MOST_REQUEST_BYTES, Connection
    from entropie.collector.public import Refusal, body_of, refused
    from entropie.collector.wire import decode
    from entropie.errors import InvalidInput

    loop = asyncio.new_event_loop()
    unexpected: list[Any] = []
    loop.set_exception_handler(lambda _, context: unexpected.append(context))

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            decode(await body_of(dict(scope["headers"]), receive), 9)
            status, headers, body = 200, [], b"{}"
        except Refusal as refusal:
            status, headers, body = refused(refusal.status, str(refusal), *refusal.headers)
        except InvalidInput as problem:
            status, headers, body = refused(400, str(problem))
        except Exception as problem:
            unexpected.append(problem)
            raise
        headers = [*headers, (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    config = uvicorn.Config(app, http=Connection, ws="none", lifespan="off", log_config=None, access_log=False)  # type: ignore[arg-type]
    config.load()

    async def sent(data: bytes) -> None:
        connection = Connection(
            config=config, server_state=ServerState(), app_state={}, _loop=loop, most=9, most_bytes=MOST_REQUEST_BYTES
        )
        wire = Wire()
        connection.connection_made(wire)
        step = 1 + data[0] if data else 1
        for place in range(1, len(data), step):
            if wire.closed:
                break
            connection.data_received(data[place : place + step])
            await asyncio.sleep(0)
        for _ in range(9):
            await asyncio.sleep(0)
        connection.connection_lost(None)
        for _ in range(9):
            await asyncio.sleep(0)
        statuses = re.findall(rb"^HTTP/1\.1 (\d)", wire.written, re.MULTILINE)
        assert set(statuses) <= {b"1", b"2", b"4"}, wire.written[:300]
        assert not unexpected, unexpected

    def tried(data: bytes) -> None:
        loop.run_until_complete(sent(data))

    post = b"\xffPOST /v1/collections/a/reports HTTP/1.1\r\nhost: x\r\ncontent-length: 24\r\n\r\n" + bytes(24)
    chunked = b"\x07POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n18\r\n" + bytes(24)
    more = b"\xffGET / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
    return tried, [post, post + post[1:], chunked + b"\r\n0\r\na: b\r\n\r\n", more, b"\xffGET / HTTP/1.0\r\n\r\n"]


if __name__ == "__main__":
    sys.exit(main())
