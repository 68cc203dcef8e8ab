"""`relay`: between devices and a collector, so that the collector does not learn who sent what."""

from __future__ import annotations

import click

from entropie.cli import output
from entropie.cli.options import COUNT, Command, option
from entropie.errors import InvalidInput


@click.command(cls=Command)
@option("--to", required=True, metavar="URL", group="Input", help="The collector.")
@option("--host", default="127.0.0.1", metavar="ADDRESS", group="Running", help="Where to listen. [127.0.0.1]")
@option("--port", type=int, default=8082, metavar="PORT", group="Running", help="Port; 0 takes a free one. [8082]")
@option("--batch", type=COUNT, default=100, metavar="N", group="Running", help="Reports to send together. [100]")
@option("--wait", type=float, default=5.0, metavar="SECONDS", group="Running",
        help="Longest wait for that many. [5]")  # fmt: skip
def relay(to: str, host: str, port: int, batch: int, wait: float) -> None:
    """Take reports from devices, shuffle them and hand on nothing else, until stopped.

    Run by somebody other than the collector's operator, it keeps addresses and times from them. Devices are answered
    when the collector has confirmed. Nothing is written down.

    \b
    entropie relay --to https://collector.example
    """
    try:
        from entropie.collector.relay import Relaying
        from entropie.collector.relay import relay as run
    except ImportError:
        raise InvalidInput("The relay needs the extra `collector`; run: pip install 'entropie[collector]'") from None
    run(Relaying(to, batch, wait), host, port, output.show, output.complain)
