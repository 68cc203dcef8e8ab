"""`guarantee`: what a mechanism guarantees."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entropie import words
from entropie.cli import output
from entropie.cli.options import (
    COUNT,
    FILE,
    Command,
    build_mechanism,
    chosen_mechanism,
    guarantee_options,
    mechanism_options,
    memory_option,
    option,
    parameters_option,
    viewed,
)
from entropie.errors import InvalidParameter

if TYPE_CHECKING:
    from entropie.document.ledger import AllReports, SpentAlone
    from entropie.mechanisms.numbers import NumbersGuarantee
    from entropie.theory.crowd import Crowd
    from entropie.theory.guarantee import Guarantee
    from entropie.theory.matrix import Between, MatrixGuarantee


@click.command(cls=Command)
@mechanism_options
@parameters_option
@option("--matrix", "Input", "Any mechanism: a row of probabilities per item.", FILE, "FILE")
@option("--domain", "Input", "Number of items.", COUNT, "K")
@option("--users", "Input", "Number of people.", COUNT, "N")
@option(
    "--group", "Input", "Or: N people send T each, and it shows; repeatable.", metavar="T:N", to="groups", multiple=True
)
@guarantee_options
@memory_option
@viewed()
def guarantee(
    users: int | None,
    groups: tuple[str, ...],
    reports: int,
    list_size: int,
    prior_max: float | None,
    linked: bool,
    parameters: Path | None,
    matrix: Path | None,
    memory: int | None,
    view: output.View,
    **options: Any,
) -> None:
    """Say what a mechanism guarantees, whatever the data and whatever the attacker knows.

    The mechanism comes from its options, from the parameter document that was written with reports (--parameters), or
    from a table of probabilities (--matrix: .csv, .npy, or .npz as NumPy or SciPy save it).

    \b
    entropie guarantee --mechanism rr --domain 10.5M --users 1.37M --epsilon 12.72
    """
    from entropie.theory.crowd import Crowd

    if groups:
        if users is not None or reports != 1 or prior_max is not None or matrix is not None:
            raise InvalidParameter("Give --group without --users, --reports, --prior-max and --matrix.")
        _show_numbers(_mechanism(parameters, options), groups, list_size, linked, view)
        return
    if users is None:
        raise click.UsageError("Missing option '--users'.")
    crowd = Crowd(users, reports, list_size, prior_max, linked)
    given = _from_matrix(matrix, crowd, memory) if matrix is not None else None
    if given is None or any(value is not None for value in (parameters, *options.values())):
        if given is not None:
            raise InvalidParameter("Give --matrix alone, without --parameters or the mechanism's options.")
        given = _mechanism(parameters, options).guarantee_for(crowd)
    from entropie.theory.matrix import MatrixGuarantee

    if isinstance(given, MatrixGuarantee):
        view.show(given.to_json, partial(matrix_text, given))
    else:
        view.show(given.to_json, partial(guarantee_text, given, view.verbose))


def _show_numbers(mechanism: Any, groups: tuple[str, ...], list_size: int, linked: bool, view: output.View) -> None:
    """What holds where people send different numbers of reports."""
    from entropie.mechanisms.numbers import numbers_guarantee

    numbers: dict[int, int] = {}
    for group in groups:
        sent, _, people = group.partition(":")
        if not people:
            raise InvalidParameter.of("group", "reports and people, such as 3:1000", group)
        reports = COUNT.convert(sent, None, None)
        numbers[reports] = numbers.get(reports, 0) + COUNT.convert(people, None, None)
    given = numbers_guarantee(mechanism, numbers, list_size, linked)
    view.show(given.to_json, lambda: numbers_text(given))


def _from_matrix(path: Path, crowd: Crowd, memory: int | None) -> MatrixGuarantee:
    from entropie.data.matrices import read_matrix
    from entropie.theory.matrix import matrix_guarantee

    return matrix_guarantee(read_matrix(path, memory), crowd)


def _mechanism(parameters: Path | None, options: dict[str, Any]) -> Any:
    """The mechanism of a parameter document, or of the options."""
    if (described := chosen_mechanism(parameters, options)) is not None:
        return described
    if options["mechanism"] is None:
        from entropie.mechanisms.registry import tunable_kinds

        known = ", ".join(tunable_kinds())
        raise click.UsageError(f"Missing option '--mechanism'. Choose from: {known}; or give --parameters or --matrix.")
    if options["domain"] is None:
        raise click.UsageError("Missing option '--domain'.")
    return build_mechanism(**options)


def guarantee_text(given: Guarantee, verbose: bool = False) -> str:
    """The terminal view of a guarantee: the number, what it is about, what is not covered."""
    parts = [
        output.paragraph(_headline(given)),
        f"{setting_text(given)}\n{people_text(given)}",
        all_bounds_text(given) if verbose else bounds_text(given),
        output.paragraph(scope_text(given)),
        output.paragraph(not_covered_text(given)),
    ]
    if given.mechanism.theta == 0.0:
        parts.insert(1, output.paragraph("These reports are pure noise: nothing can be estimated from them."))
    return "\n\n".join(parts)


def _headline(given: Guarantee) -> str:
    return (
        f"At most {words.percent(1.0 - given.all_reports.bayes_error)} of people can be re-identified by whoever holds "
        f"everybody's {reports_text(given)} (by chance: {words.percent(_chance(given))})."
    )


def reports_text(given: Guarantee) -> str:
    """What the store holds: entries of all people."""
    if given.reports_per_user == 1:
        return "reports"
    return "reports, linked by person" if given.all_reports.linked else "reports, not linked to each other"


def _chance(given: Guarantee) -> float:
    return given.prior_max or 1.0 / given.users


def setting_text(given: Guarantee) -> str:
    """One line that names the mechanism."""
    from entropie.mechanisms.registry import mechanism_kind

    channel = given.mechanism
    line = f"{mechanism_kind(channel.kind).title.capitalize()}: epsilon {words.digits(channel.epsilon, 4)}"
    line += f", theta {words.digits(channel.theta, 4)}"
    if channel.hash_size is not None:
        line += f", {words.count(channel.hash_size)} hash values"
    return line


def people_text(given: Guarantee) -> str:
    """People, items and reports."""
    return (
        f"{words.plural(given.users, 'person', 'people')}, {words.count(given.mechanism.domain_size)} items, "
        f"{words.plural(given.reports_per_user, 'report')} per person"
    )


def bounds_text(given: Guarantee) -> str:
    """The guarantee in a few lines, by what leaks."""
    store = given.all_reports
    rows = [["re-identified, at most", words.percent(1.0 - store.bayes_error), words.percent(1.0 - given.bayes_error)]]
    if given.list_size > 1:
        listed = [words.percent(1.0 - error) for error in (store.list_error, given.list_error)]
        rows.append([f"... with {given.list_size} guesses", *listed])
    rows += [
        [
            f"information about the sender, of {words.digits(math.log2(given.users))} bits",
            words.digits(store.alpha_bits, 2),
            words.digits(given.alpha_bits, 2),
        ],
        [
            "worst-case certainty about one person",
            words.percent(store.posterior_max),
            words.percent(given.posterior_max),
        ],
    ]
    return output.table(["what leaks:", "all reports", "one person's alone"], rows)


def all_bounds_text(given: Guarantee) -> str:
    """Every bound with all its digits, the paper's beside the certified one."""
    several = given.list_error if given.list_size > 1 else None
    store, entry = given.all_reports, given.list_size > 1
    rows: list[tuple[str, float | None, float | None]] = [
        ("all reports leak: error rate, at least", store.bayes_error, None),
        (f"... with {given.list_size} guesses", store.list_error if entry else None, None),
        ("... information about the sender, bits", store.alpha_bits, None),
        ("... worst-case certainty", store.posterior_max, None),
        ("one person's alone: error rate, at least", given.bayes_error, given.bayes_error_paper),
        (f"... with {given.list_size} guesses", several, None),
        ("... by Fano's inequality, weaker", given.bayes_error_fano, None),
        ("... if the hash were ideal", given.bayes_error_ideal_hash, None),
        ("information I(U;Y), at most, bits", given.alpha_bits, given.alpha_bits_paper),
        ("... from epsilon alone", given.alpha_bits_ldp_tight, given.alpha_bits_ldp),
        ("... if the hash were ideal", given.alpha_bits_ideal_hash, None),
        ("maximal leakage, bits", given.max_leakage_bits, None),
        ("information about any one person, bits", given.per_user_bits, None),
        ("worst-case certainty about one person", given.posterior_max, None),
        ("share of the data's information kept", given.contraction, None),
    ]
    shown = [[name, _all_digits(ours), _all_digits(theirs)] for name, ours, theirs in rows if ours is not None]
    return output.table(["guarantee", "certified", "paper"], shown)


def _all_digits(value: float | None) -> str:
    if value is None:
        return ""
    return "no limit" if math.isinf(value) else f"{value:.10g}"


def scope_text(given: Guarantee) -> str:
    """For whom it holds."""
    return (
        "It holds for every distribution of the data and every attacker who knows all data but not who sent which "
        "report. The share is an average over people; the worst-case certainty is the most that one outcome can reveal."
    )


def not_covered_text(given: Guarantee) -> str:
    """What is not guaranteed."""
    more = "" if given.reports_per_user > 1 else "more reports of one person (--reports), "
    return (
        f"Not covered: {more}anything stored beside the reports, other data on the same people, inference without "
        "identification."
    )


def matrix_text(given: MatrixGuarantee) -> str:
    """The number, what it is about, and every property of the matrix."""
    store = given.all_reports
    headline = (
        f"At most {words.percent(1.0 - store.bayes_error)} of people can be re-identified by whoever holds everybody's "
        f"reports (by chance: {words.percent(given.prior_max or 1.0 / given.users)})."
    )
    size = (
        f"Matrix of {words.plural(given.inputs, 'item')} and {words.plural(given.outputs, 'answer')}: epsilon "
        f"{words.digits(given.epsilon, 4)}, theta {words.digits(given.theta, 4)}\n"
        f"{words.plural(given.users, 'person', 'people')}, {words.plural(given.reports_per_user, 'report')} per person"
    )
    rows = [
        ["re-identified, at most", words.percent(1.0 - store.list_error), words.percent(1.0 - given.list_error)],
        ["information, bits", words.digits(store.alpha_bits), words.digits(given.alpha_bits_composed)],
        ["worst-case certainty", words.percent(store.posterior_max), words.percent(given.posterior_max)],
    ]
    leaks = output.table(["what leaks:", "all reports", "one person's alone"], rows)
    properties = [
        ["information about the sender of one report, bits", _ends(given.alpha_bits)],
        ["error rate of the attacker from one report", _ends(given.bayes_error)],
        ["capacity, bits", _ends(given.capacity_bits)],
        ["order-2 information, bits", _ends(given.order_2_bits)],
        ["Bayes capacity, bits", f"{math.log2(given.bayes_capacity):.6g}"],
        ["contraction of information", _ends(given.contraction)],
        ["contraction of total variation", f"{given.dobrushin:.6g}"],
    ]
    return "\n\n".join(
        [output.paragraph(headline), size, leaks, output.table(["one report, worst data", ""], properties)]
    )


def _ends(value: Between) -> str:
    """One number where both ends print the same."""
    low, high = f"{value.low:.6g}", f"{value.high:.6g}"
    return low if low == high else f"{low} to {high}"


def numbers_text(given: NumbersGuarantee) -> str:
    """The number, what the numbers of reports alone tell, and every group."""
    store = given.all_reports
    stored = "reports, linked by person" if store.linked else "reports, not linked to each other"
    headline = (
        f"At most {words.percent(1.0 - store.bayes_error)} of people can be re-identified by whoever holds everybody's "
        f"{stored}, and {words.percent(1.0 - given.numbers_bayes_error)} from the number of their reports alone (by "
        f"chance: {words.percent(1.0 / given.users)})."
    )
    rows = [["all", words.count(given.users), *_shares(store), *_shares(given.alone)]]
    for group in given.groups:
        together = ["", ""] if group.all_reports is None else _shares(group.all_reports)
        rows.append([words.count(group.reports), words.count(group.users), *together, *_shares(group.alone)])
    headers = ["reports", "people", "all reports: share", "certainty", "one person's: share", "certainty"]
    remedy = (
        "Whoever sends a number of reports that few others send is known by it. Let everybody send the largest number, "
        "filled up with reports about made-up items: then --users and --reports tell what holds."
    )
    return "\n\n".join([output.paragraph(headline), output.table(headers, rows), output.paragraph(remedy)])


def _shares(given: SpentAlone | AllReports) -> list[str]:
    """The share re-identified and the worst-case certainty, at most."""
    return [words.percent(1.0 - given.bayes_error), words.percent(given.posterior_max)]
