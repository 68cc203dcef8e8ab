"""The options of commands: made from the fields of a request, grouped by the question they answer, read in one way."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from entropie.atomic import publicly
from entropie.cli.output import View
from entropie.errors import EntropieError, InvalidInput, InvalidParameter
from entropie.kinds import Kind, converted, option_of
from entropie.request import About, Attackers, Limits, Output, People, Run, Source, SplitRule
from entropie.table_request import Table, TableOutput

if TYPE_CHECKING:
    from entropie.data.columns import Dictionary

AnyCommand = TypeVar("AnyCommand", bound=Callable[..., Any])

_GROUPS: dict[type, str] = {
    Source: "Input",
    People: "Input",
    SplitRule: "Attacker",
    Attackers: "Attacker",
    Limits: "Verdict",
    About: "Sign-off",
    Output: "Output",
    Table: "Input",
    TableOutput: "Output",
    Run: "Running",
}
_ORDER = ("Input", "Mechanism", "Attacker", "Verdict", "Mitigation", "Sign-off", "Output", "Running", "")


class Quantity(click.ParamType[Any]):
    """A value as a request reads it: 1.4M people, a limit of 10%, 4GB of memory."""

    def __init__(self, kind: Kind, choices: tuple[str, ...] = ()) -> None:
        self.name = kind
        self._kind = kind
        self.choices = choices

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the value, or say what it should be."""
        try:
            return converted("value", self._kind, value, self.choices)
        except EntropieError as problem:
            rule, _, meant = (
                str(problem).removeprefix("Parameter `value` must be ").partition(f", got {value!r} instead")
            )
            return self.fail(f"{value!r} is not {rule}{meant}", param, ctx)


COUNT, SHARE, SIZE, NUMBER = Quantity("count"), Quantity("share"), Quantity("bytes"), Quantity("number")
NAMES = Quantity("names")
FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


class Grouped(click.Option):
    """An option that says under which question the help lists it, and shows the choices of one that has no other."""

    def __init__(self, *names: Any, group: str = "", **settings: Any) -> None:
        kind = settings.get("type")
        if isinstance(kind, Quantity) and kind.choices and settings.get("metavar") is None:
            settings["metavar"] = f"[{'|'.join(kind.choices)}]"
        super().__init__(*names, **settings)
        self.group = group


def one_of(*names: str) -> Quantity:
    """A choice among names, in capitals or not."""
    return Quantity("choice", names)


class Command(click.Command):
    """A command whose help groups options by question."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one list of options per question."""
        rows: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            shown = parameter.get_help_record(ctx)
            if shown is not None and isinstance(parameter, click.Option):
                rows.setdefault(getattr(parameter, "group", ""), []).append(shown)
        widest = max(len(names) for listed in rows.values() for names, _ in listed)
        for group in sorted(rows, key=_ORDER.index):
            with formatter.section(group or "Options"):
                padded = [(names.ljust(widest), text) for names, text in rows[group]]
                formatter.write_dl(padded, col_max=widest, col_spacing=2)


def options_of(
    *sections: type, without: tuple[str, ...] = (), only: tuple[str, ...] = ()
) -> Callable[[AnyCommand], AnyCommand]:
    """The options of these sections of a request, all or some of them; those not given come as None."""
    options = [
        _declared(section, field)
        for section in sections
        for field in dataclasses.fields(section)
        if option_of(field) is not None and field.name not in without and (not only or field.name in only)
    ]

    def decorate(command: AnyCommand) -> AnyCommand:
        return _together(command, *options)

    return decorate


def _declared(section: type, field: dataclasses.Field[Any]) -> Callable[[AnyCommand], AnyCommand]:
    shown = option_of(field)
    assert shown is not None
    name = f"--{shown.spelled or field.name.replace('_', '-')}"
    settings: dict[str, Any] = {
        "cls": Grouped,
        "group": shown.group or _GROUPS[section],
        "help": _help(field),
        "default": None,
    }
    if shown.kind == "flag":
        return click.option(name, field.name, is_flag=True, flag_value=not field.default, **settings)
    settings["metavar"] = shown.metavar or None
    if shown.kind in ("texts", "counts"):
        one: Kind = "text" if shown.kind == "texts" else "count"
        return click.option(name, field.name, multiple=True, type=Quantity(one), **settings)
    return click.option(name, field.name, type=Quantity(shown.kind, shown.choices), **settings)


def _help(field: dataclasses.Field[Any]) -> str:
    shown = option_of(field)
    assert shown is not None
    default = field.default
    plain = default is None or default == () or isinstance(default, bool)
    told = ", ".join(map(str, default)) if isinstance(default, tuple) else default
    return shown.help if plain or shown.choices else f"{shown.help} [{told}]"


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given: click says None or an empty tuple for the others."""
    return {name: value for name, value in options.items() if value is not None and value != ()}


def option(
    name: str, group: str, help: str, kind: Any = None, metavar: str | None = None, *, to: str | None = None,
    **settings: Any,
) -> Callable[[AnyCommand], AnyCommand]:  # fmt: skip
    """An option of one command alone, listed under a question; `to` is another name, short or of the parameter."""
    names = (name,) if to is None else (name, to)
    return click.option(*names, cls=Grouped, group=group, help=help, type=kind, metavar=metavar, **settings)


_VIEWS = {
    "json": option("--json", "Output", "Print one JSON document instead of text.", to="as_json", is_flag=True),
    "verbose": option("--verbose", "Output", "Print all numbers and explanations.", to="-v", is_flag=True),
    "quiet": option("--quiet", "Output", "Print nothing; the exit code tells.", to="-q", is_flag=True),
}


def viewed(*names: str) -> Callable[[AnyCommand], AnyCommand]:
    """--json, --verbose and --quiet, or those named, as one argument `view`."""

    def decorate(command: AnyCommand) -> AnyCommand:
        @functools.wraps(command)
        def run(*, as_json: bool, verbose: bool = False, quiet: bool = False, **named: object) -> Any:
            return command(view=View(as_json, verbose, quiet), **named)

        return _together(cast(AnyCommand, run), *(_VIEWS[name] for name in names or _VIEWS))

    return decorate


public_option = option(
    "--public",
    "Output",
    "Let others read the files (0644, not 0600).",
    is_flag=True,
    expose_value=False,
    callback=lambda context, parameter, wanted: context.with_resource(publicly()) if wanted else None,
)
junit_option = _declared(Output, Output.__dataclass_fields__["junit"])
markdown_option = _declared(Output, Output.__dataclass_fields__["markdown"])
memory_option = _declared(Run, Run.__dataclass_fields__["memory"])
parameters_option = option("--parameters", "Input", "Parameter document to use.", FILE, "FILE")
dictionary_option = option("--dictionary", "Input", "Item names and codes; `obfuscate` makes it.", FILE, "FILE")


def mechanism_options(command: AnyCommand) -> AnyCommand:
    """--mechanism, --epsilon, --theta, --hash-size, --subset-size, --symmetric, --noise, --prime."""
    names = "NAME"  # of those built in, or one that another package registers
    return _together(
        command,
        option("--mechanism", "Mechanism", "rr, glh, subset, unary, hadamard, noise or erasure.", metavar=names),
        option("--epsilon", "Mechanism", "Privacy budget of one report.", NUMBER, "E"),
        option("--theta", "Mechanism", "Or: the probability of the truth.", SHARE, "T"),
        option("--hash-size", "Mechanism", "Hash values of glh. [e^epsilon + 1]", COUNT, "G"),
        option("--subset-size", "Mechanism", "Items of subset. [k/(e^epsilon + 1)]", COUNT, "D"),
        option("--symmetric", "Mechanism", "unary: RAPPOR's one-time response.", is_flag=True, default=None),
        option("--noise", "Mechanism", "noise: a row of its probabilities.", FILE, "FILE"),
        option("--prime", "Mechanism", "Prime of the hashes, or 'large'. [the smallest]", metavar="P"),
    )


def guarantee_options(command: AnyCommand) -> AnyCommand:
    """--reports, --unlinked, --list, --prior-max."""
    return _together(
        command,
        option("--reports", "Attacker", "Reports of one person. [1]", COUNT, "T", default=1),
        option(
            "--unlinked",
            "Attacker",
            "Nothing tells which reports are of one person.",
            to="linked",
            is_flag=True,
            flag_value=False,
            default=True,
        ),
        option("--list", "Attacker", "Guesses. [1]", COUNT, "L", to="list_size", default=1),
        option("--prior-max", "Attacker", "Best guess without a report. [1/users]", SHARE, "P"),
    )


def _together(command: AnyCommand, *options: Callable[[AnyCommand], AnyCommand]) -> AnyCommand:
    for declared in reversed(options):
        command = declared(command)
    return command


def build_mechanism(
    mechanism: str,
    domain: int,
    epsilon: float | None,
    theta: float | None,
    *,
    prime: str | None = None,
    noise: Path | None = None,
    **own: int | None,
) -> Any:
    """The mechanism that the options describe."""
    from entropie.mechanisms.hashing import LARGE_PRIME
    from entropie.mechanisms.registry import make_mechanism

    chosen = LARGE_PRIME if prime == "large" else None if prime is None else COUNT.convert(prime, None, None)
    named = None if noise is None else _distribution(noise)
    all_own = {**own, "prime": chosen, "noise": named}
    return make_mechanism(mechanism, domain_size=domain, epsilon=epsilon, theta=theta, own=all_own)


def _distribution(path: Path) -> Any:
    """The only row of a table of probabilities."""
    from entropie.data.matrices import read_matrix

    table = read_matrix(path)
    if len(table) != 1:
        raise InvalidInput(f"{path} has {len(table)} rows; --noise takes one row, with a probability for every item.")
    return table[0]


def chosen_mechanism(parameters: Path | None, mechanism: Mapping[str, Any]) -> Any | None:
    """The mechanism of a parameter document, beside which no option may describe another; None without a document."""
    if parameters is None:
        return None
    if any(value is not None for value in mechanism.values()):
        raise InvalidParameter("Give either --parameters or the mechanism's options, not both.")
    return load_parameters(parameters)


def check_agreement(names: Dictionary | None, domain_size: int) -> None:
    """Refuse a dictionary of other items than the parameters are for."""
    if names is not None and len(names) != domain_size:
        raise InvalidInput(
            f"The dictionary has {len(names)} items, the parameters are for {domain_size}; they must agree."
        )


def beside(reports: Path) -> Path:
    """The parameter document beside a file of reports."""
    from entropie.data.reported import BESIDE

    return reports.with_name(f"{reports.name}{BESIDE}")


def load_parameters(path: Path) -> Any:
    """The mechanism of a parameter document on file."""
    from entropie.contents import read_bytes
    from entropie.mechanisms.parameters import from_document

    name = f"Parameter document {path}"
    return from_document(read_bytes(path, name), name)
