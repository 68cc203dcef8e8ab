"""`collect`, `serve`, `doctor`, `relay`: a collection document, the service that counts its reports, what it keeps."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entropie.cli import output
from entropie.cli.options import (
    COUNT,
    FILE,
    NUMBER,
    SHARE,
    Command,
    beside,
    build_mechanism,
    one_of,
    option,
    public_option,
    viewed,
)
from entropie.errors import InvalidInput, InvalidParameter, extra_needed
from entropie.words import count, digits, percent, plural

if TYPE_CHECKING:
    from entropie.collector.document import Collection

DAY = click.DateTime(["%Y-%m-%d"])
_MOST_DAYS = 90
_SECRET = "ENTROPIE_WEBHOOK_SECRET"
_KINDS = {"rr": "randomized response", "glh": "local hashing"}


@click.group()
def collect() -> None:
    """Ask people without learning who answered what: devices add noise, a service counts.

    \b
    entropie collect new --title Drinks --items drinks.txt --people 10k \\
        --mechanism rr --epsilon 2 --out drinks.json
    entropie serve --store drinks.store --collection drinks.json
    """


@collect.command(cls=Command)
@option("--title", "Input", "What is asked, in words.", metavar="TEXT", required=True)
@option("--items", "Input", "Names of the items, one per line.", FILE, "FILE")
@option("--domain", "Input", "Or: any name, hashed to one of K codes.", COUNT, "K")
@option("--people", "Input", "People who are expected.", COUNT, "N", required=True)
@option("--reports", "Input", "Reports of one person. [1]", COUNT, "T", default=1)
@option("--opens", "Input", "First day, in UTC. [today]", DAY, "DAY")
@option("--closes", "Input", f"Last day, in UTC. [{_MOST_DAYS} days later]", DAY, "DAY")
@option("--mechanism", "Mechanism", "What devices run.", one_of(*_KINDS), required=True)
@option("--epsilon", "Mechanism", "Privacy budget of one report.", NUMBER, "E")
@option("--theta", "Mechanism", "Or: the probability of the truth.", SHARE, "T")
@option("--hash-size", "Mechanism", "Hash values of glh. [e^epsilon + 1]", COUNT, "G")
@option("--bayes-error", "Verdict", "Error rate of the attacker, at least.", SHARE, "B")
@option("--certainty", "Verdict", "Certainty about one person, at most.", SHARE, "P")
@option("--list-error", "Verdict", "Error rate with --list guesses, at least.", SHARE, "B")
@option("--list", "Verdict", "Guesses. [1]", COUNT, "L", to="list_size", default=1)
@option("--out", "Output", "Document to write.", FILE, "FILE", required=True)
@public_option
@viewed("json", "quiet")
def new(out: Path, view: output.View, **options: Any) -> None:
    """Write a collection document: what is asked, of how many people, with how much noise.

    It is refused where it guarantees less than the limits declared, against an attacker who holds all reports.

    \b
    entropie collect new --title Drinks --items drinks.txt --people 10k \\
        --mechanism rr --epsilon 2 --bayes-error 99% --out drinks.json
    """
    from entropie.atomic import write_file

    output.check_writable([options["items"]], [out])
    made = _collection(options)
    write_file(out, made.canonical)
    view.show(lambda: _summary(made, out), lambda: _text(made, out))


def _collection(options: dict[str, Any]) -> Collection:
    from entropie.collector.document import Limits, create, share_text

    names = None if options["items"] is None else _names(options["items"])
    if (names is None) == (options["domain"] is None):
        raise InvalidParameter("Give either --items, a list of names, or --domain, the number of codes.")
    device = build_mechanism(
        options["mechanism"],
        options["domain"] if names is None else len(names),
        options["epsilon"],
        options["theta"],
        hash_size=options["hash_size"],
    )
    opens = options["opens"].date() if options["opens"] else datetime.datetime.now(datetime.UTC).date()
    longest = datetime.timedelta(min(_MOST_DAYS, (datetime.date.max - opens).days))
    closes = options["closes"].date() if options["closes"] else opens + longest
    error, certainty, list_error = (
        share_text(name, options[name]) for name in ("bayes_error", "certainty", "list_error")
    )
    limits = Limits(error, certainty, list_error, str(options["list_size"]))
    return create(
        device,
        title=options["title"],
        people=options["people"],
        opens=opens,
        closes=closes,
        items=names,
        reports_per_person=options["reports"],
        limits=limits,
    )


def _names(path: Path) -> list[str]:
    from entropie.contents import read_bytes

    try:
        lines = read_bytes(path, f"The list of items {path}").decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InvalidInput(f"The list of items {path} is not UTF-8; save it as such.") from None
    return [line.strip() for line in lines if line.strip()]


def _summary(made: Collection, out: Path) -> dict[str, Any]:
    from entropie.document.printed import CollectionMade

    held = made.guarantee_for(made.users)
    return CollectionMade(
        id=made.id,
        out=str(out),
        people=made.users,
        reports_per_person=made.reports,
        cells=made.cells,
        epsilon=made.device.epsilon,
        bayes_error=held.all_reports.bayes_error,
        list_error=held.all_reports.list_error,
        certainty=held.all_reports.posterior_max,
        influence_of_one=made.influence(1, made.users * made.reports),
    ).to_json()


def _text(made: Collection, out: Path) -> str:
    held = made.guarantee_for(made.users).all_reports
    days = f"{made.opens} to {made.closes}"
    items = plural(made.device.domain_size, "item" if made.items else "code")
    return "\n".join(
        [
            f"{made.title}: {plural(made.users, 'person', 'people')}, {plural(made.reports, 'report')} each, {days}",
            f"{_KINDS[made.device.kind]} over {items}, epsilon {digits(made.device.epsilon)}",
            "",
            "Guaranteed against an attacker who holds all reports and knows all data",
            f"  error rate                    at least {percent(held.bayes_error)}",
            f"  certainty about one person    at most {percent(held.posterior_max)}",
            f"One fake report moves a share by at most {percent(made.influence(1, made.users * made.reports))}.",
            "",
            f"Id: {made.id}",
            f"Document: {output.name(out)}",
            f"Next: entropie serve --store counts.store --collection {output.name(out)}",
        ]
    )


@collect.command(cls=Command)
@click.argument("stores", nargs=-1, required=True, type=FILE)
@option("--out", "Output", "Store to write.", FILE, "FILE", required=True)
@viewed("json", "quiet")
def merge(stores: tuple[Path, ...], out: Path, view: output.View) -> None:
    """Add up what several stores have counted, in any order.

    Their collections must be closed. A device keeps to one collector: what was sent to two is counted by both.

    \b
    entropie collect merge north.store south.store --out all.store
    """
    from entropie.collector.merge import merge as merged
    from entropie.document.printed import StoresMerged

    found = merged(stores, out)
    rows = [(name, count(reports)) for name, reports in found.items()]
    table = output.table(("collection", "reports"), rows)
    view.show(StoresMerged(str(out), found).to_json, lambda: f"{table}\n\nStore: {output.name(out)}")


@collect.command(cls=Command)
@click.argument("records", nargs=-1, required=True, type=FILE)
@option("--collection", "Input", "The collection document.", FILE, "FILE", required=True)
@option("--out", "Output", "Reports to write (.csv or .parquet).", FILE, "FILE", required=True)
@public_option
@viewed("json", "quiet")
def reports(records: tuple[Path, ...], collection: Path, out: Path, view: output.View) -> None:
    """Turn records that were written to files into files of reports for `estimate`, on one machine or with Spark.

    RECORDS are bodies as devices send them, one after the other. Each random number counts once, over all files named.
    The parameters are written beside the reports, as OUT.parameters.json.

    \b
    entropie collect reports bodies/*.bin --collection drinks.json --out reports.parquet
    entropie estimate reports.parquet
    """
    from entropie.atomic import write_file
    from entropie.collector.bodies import taken
    from entropie.collector.document import read
    from entropie.contents import read_bytes
    from entropie.data.columns import TableWriter
    from entropie.mechanisms.parameters import to_document

    parameters = beside(out)
    output.check_writable([*records, collection], [out, parameters])
    name = f"The collection document {collection}"
    made = read(read_bytes(collection, name), name)
    with TableWriter(out) as writer:
        found = taken(records, made, writer)
        write_file(parameters, to_document(made.device) + "\n")
    left = f"Sent twice and taken once: {count(found.duplicate)}. Not valid: {count(found.invalid)}."
    view.show(found.to_json, lambda: f"{plural(found.reports, 'report')} in {output.name(out)}\n{left}")


@click.command(cls=Command)
@option("--store", "Input", "File to count in, or postgresql://...", metavar="STORE", required=True)
@option(
    "--collection",
    "Input",
    "Document of a collection to take reports for; repeatable.",
    FILE,
    "FILE",
    to="collections",
    multiple=True,
)
@option("--host", "Running", "Public listener. [127.0.0.1]", metavar="ADDRESS", default="127.0.0.1")
@option("--port", "Running", "Its port; 0 takes a free one. [8080]", COUNT, "PORT", default=8080)
@option("--admin-port", "Running", "Port of the admin listener, on loopback. [8081]", COUNT, "PORT", default=8081)
@option("--mark", "Running", "Keep here how far a store in PostgreSQL has come.", FILE, "FILE")
@option("--webhook", "Running", "Send alerts there, signed with a secret.", metavar="URL")
@option("--new-token", "Running", "Replace the admin token.", is_flag=True)
def serve(
    store: str,
    collections: tuple[Path, ...],
    host: str,
    port: int,
    admin_port: int,
    mark: Path | None,
    webhook: str | None,
    new_token: bool,
) -> None:
    """Take reports and count them, until stopped.

    The public listener takes reports; put a proxy with TLS before it. The admin listener shows estimates, risk and
    alerts on this machine alone, for whoever has the token that the first start prints. The secret of --webhook comes
    from the environment: ENTROPIE_WEBHOOK_SECRET.

    \b
    entropie serve --store drinks.store --collection drinks.json
    """
    from entropie.contents import read_bytes

    try:
        from entropie.collector.service import Served, serve
        from entropie.collector.webhook import Webhook
    except ImportError:
        raise extra_needed("The service needs", "collector") from None
    documents = tuple(read_bytes(path, f"The collection document {path}") for path in collections)
    told = None if webhook is None else Webhook(webhook, os.environ.get(_SECRET, "").encode())
    serve(Served(store, host, port, admin_port, documents, new_token, told, mark), output.show, output.complain)


@click.command(cls=Command)
@click.argument("store")
@option("--mark", "Input", "The mark that a service keeps, with PostgreSQL.", FILE, "FILE")
@viewed("json", "quiet")
def doctor(store: str, mark: Path | None, view: output.View) -> int:
    """Check what a service keeps: nothing damaged, nothing rolled back, every report counted once.

    Exit code 1 where something is wrong. The service may be running.

    \b
    entropie doctor drinks.store
    """
    from entropie.collector.examine import examined

    found = examined(store, mark)
    rows = [(one.id, "closed" if one.closed else "open", count(one.accepted)) for one in found.collections]
    table = f"\n\n{output.table(('collection', 'state', 'reports'), rows, left=2)}" if rows else ""
    said = " ".join(found.problems) or "The store is sound: cells, reports and nonces agree."
    view.show(found.to_json, lambda: f"{'FAIL' if found.problems else 'PASS'}   {said}{table}")
    return 1 if found.problems else 0


@click.command(cls=Command)
@option("--to", "Input", "The collector.", metavar="URL", required=True)
@option("--host", "Running", "Where to listen. [127.0.0.1]", metavar="ADDRESS", default="127.0.0.1")
@option("--port", "Running", "Port; 0 takes a free one. [8082]", COUNT, "PORT", default=8082)
@option("--batch", "Running", "Reports to send together. [100]", COUNT, "N", default=100)
@option("--wait", "Running", "Longest wait for that many. [5]", NUMBER, "SECONDS", default=5.0)
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
        raise extra_needed("The relay needs", "collector") from None
    run(Relaying(to, batch, wait), host, port, output.show, output.complain)
