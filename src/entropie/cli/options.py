"""Option types and the options that several commands share."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from entropie.quantities import read_count, read_share

Command = TypeVar("Command", bound=Callable[..., Any])


class Count(click.ParamType[int]):
    """A whole number, written 1370637, 1_370_637, 1,370,637, 1e6 or 1.4M."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the number, or say what it should be."""
        if isinstance(value, int):
            return value
        try:
            return read_count(value)
        except ValueError:
            return self.fail(f"{value!r} is not a whole number such as 1500, 1e6 or 1.4M.", param, ctx)


class Share(click.ParamType[float]):
    """A share, written 0.1 or 10%."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the share, or say what it should be."""
        if isinstance(value, float):
            return value
        try:
            return read_share(str(value))
        except ValueError:
            return self.fail(f"{value!r} is not a share such as 0.1 or 10%.", param, ctx)


COUNT, SHARE = Count(), Share()
WHOLE = COUNT

FILE = click.Path(dir_okay=False, path_type=Path)

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
verbose_option = click.option("--verbose", "-v", is_flag=True, help="Print everything, with all digits.")
quiet_option = click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")

parameters_option = click.option("--parameters", type=FILE, metavar="FILE", help="Parameter document to use.")
dictionary_option = click.option(
    "--dictionary",
    type=FILE,
    metavar="FILE",
    help="Item names and codes (columns code, item). Written by `obfuscate` where it does not exist.",
)


def mechanism_options(command: Command) -> Command:
    """--mechanism, --epsilon, --theta, --hash-size, --prime."""
    options = [
        click.option(
            "--mechanism",
            type=click.Choice(["rr", "glh"]),
            help="Randomized response (rr) or local hashing (glh).",
        ),
        click.option("--epsilon", type=float, metavar="E", help="Privacy budget; a lie is e^E times rarer."),
        click.option("--theta", type=float, metavar="T", help="Probability of the truth, instead of --epsilon."),
        click.option("--hash-size", type=COUNT, metavar="G", help="Hash values of glh."),
        click.option(
            "--prime",
            metavar="P",
            help="Prime of the hash family: a number, or 'large' for 2^61-1. Default: the smallest that fits.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def guarantee_options(command: Command) -> Command:
    """--reports, --list, --prior-max."""
    options = [
        click.option("--reports", type=COUNT, default=1, show_default=True, metavar="T", help="Reports per user."),
        click.option(
            "--list", "list_size", type=COUNT, default=1, show_default=True, metavar="L", help="Guesses per attack."
        ),
        click.option("--prior-max", type=float, metavar="P", help="Probability of the likeliest user. [1/users]"),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def build_mechanism(
    mechanism: str, domain: int, epsilon: float | None, theta: float | None, hash_size: int | None, prime: str | None
) -> Any:
    """The mechanism that the options describe."""
    from entropie.errors import InvalidParameter
    from entropie.mechanisms.hashing import LARGE_PRIME
    from entropie.mechanisms.local_hashing import LocalHashing
    from entropie.mechanisms.randomized_response import RandomizedResponse

    if (epsilon is None) == (theta is None):
        raise InvalidParameter("Give either --epsilon or --theta, not both and not neither.")
    if mechanism == "rr":
        if hash_size is not None or prime is not None:
            raise InvalidParameter("Randomized response does not hash: leave out --hash-size and --prime.")
        if theta is not None:
            return RandomizedResponse.from_theta(domain_size=domain, theta=theta)
        return RandomizedResponse(domain_size=domain, epsilon=epsilon)  # type: ignore[arg-type]
    if hash_size is None:
        raise InvalidParameter("Local hashing needs --hash-size, the number of hash values.")
    chosen = LARGE_PRIME if prime == "large" else None if prime is None else COUNT.convert(prime, None, None)
    if theta is not None:
        return LocalHashing.from_theta(domain_size=domain, hash_size=hash_size, theta=theta, prime=chosen)
    return LocalHashing(domain_size=domain, hash_size=hash_size, epsilon=epsilon, prime=chosen)  # type: ignore[arg-type]


def load_parameters(path: Path) -> Any:
    """The mechanism of a parameter document on file."""
    from entropie.errors import InvalidInput
    from entropie.mechanisms.parameters import from_document

    try:
        return from_document(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidInput(f"Parameter document {path} does not exist; check the name.") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"Parameter document {path} is not a text file.") from None


def check_folder(out: Path) -> None:
    """Refuse a folder that cannot be made before hours are spent on what would go there."""
    from entropie.errors import InvalidInput

    existing = next(place for place in (out.absolute(), *out.absolute().parents) if place.exists())
    try:
        usable = existing.is_dir() and os.access(existing, os.W_OK)
        if usable:
            tempfile.TemporaryFile(dir=existing).close()  # some file systems refuse only here
    except OSError:
        usable = False
    if not usable:
        raise InvalidInput(f"Folder {out} cannot be written to; name another with --out.")
