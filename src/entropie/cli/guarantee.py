"""`guarantee` and `calibrate`: what a mechanism guarantees, and which setting gives a wanted guarantee."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entropie import words
from entropie.cli import output
from entropie.cli.matrix import matrix_text
from entropie.cli.options import (
    COUNT,
    FILE,
    SHARE,
    Command,
    build_mechanism,
    guarantee_options,
    json_option,
    load_parameters,
    mechanism_options,
    memory_option,
    option,
    parameters_option,
    public_option,
    quiet_option,
    verbose_option,
)
from entropie.errors import InvalidParameter, Unreachable

if TYPE_CHECKING:
    from entropie.mechanisms.calibrate import Calibration
    from entropie.theory.crowd import Crowd
    from entropie.theory.guarantee import Guarantee
    from entropie.theory.matrix import MatrixGuarantee

_NAMES = {True: "randomized response", False: "local hashing"}


@click.command(cls=Command)
@mechanism_options
@parameters_option
@option("--matrix", type=FILE, metavar="FILE", group="Input", help="Any mechanism: a row of probabilities per item.")
@option("--domain", type=COUNT, metavar="K", group="Input", help="Number of items.")
@option("--users", type=COUNT, required=True, metavar="N", group="Input", help="Number of people.")
@guarantee_options
@verbose_option
@quiet_option
@memory_option
@json_option
def guarantee(
    users: int,
    reports: int,
    list_size: int,
    prior_max: float | None,
    linked: bool,
    parameters: Path | None,
    matrix: Path | None,
    verbose: bool,
    quiet: bool,
    memory: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Say what a mechanism guarantees, whatever the data and whatever the attacker knows.

    The mechanism comes from its options, from the parameter document that was written with reports (--parameters), or
    from a table of probabilities (--matrix: .csv, .npy, or .npz as NumPy or SciPy save it).

    \b
    entropie guarantee --mechanism rr --domain 10.5M --users 1.37M --epsilon 12.72
    """
    from entropie.theory.crowd import Crowd

    crowd = Crowd(users, reports, list_size, prior_max, linked)
    given = _from_matrix(matrix, crowd, memory) if matrix is not None else None
    if given is None or any(value is not None for value in (parameters, *options.values())):
        if given is not None:
            raise InvalidParameter("Give --matrix alone, without --parameters or the mechanism's options.")
        given = _mechanism(parameters, options).guarantee_for(crowd)
    if as_json:
        output.print_json(given.to_json())
    elif not quiet:
        from entropie.theory.matrix import MatrixGuarantee

        output.show(matrix_text(given) if isinstance(given, MatrixGuarantee) else guarantee_text(given, verbose))


def _from_matrix(path: Path, crowd: Crowd, memory: int | None) -> MatrixGuarantee:
    from entropie.data.matrices import read_matrix
    from entropie.theory.matrix import matrix_guarantee

    return matrix_guarantee(read_matrix(path, memory), crowd)


def _mechanism(parameters: Path | None, options: dict[str, Any]) -> Any:
    """The mechanism of a parameter document, or of the options."""
    if parameters is not None:
        if any(value is not None for value in options.values()):
            raise InvalidParameter("Give either --parameters or the mechanism's options, not both.")
        return load_parameters(parameters)
    if options["mechanism"] is None:
        raise click.UsageError("Missing option '--mechanism'. Choose from: rr, glh; or give --parameters or --matrix.")
    if options["domain"] is None:
        raise click.UsageError("Missing option '--domain'.")
    return build_mechanism(**options)


@click.command(cls=Command)
@option("--users", type=COUNT, required=True, metavar="N", group="Input", help="Number of people.")
@option("--domain", type=COUNT, required=True, metavar="K", group="Input", help="Number of items.")
@option(
    "--bayes-error",
    type=SHARE,
    required=True,
    metavar="B",
    group="Attacker",
    help="Wanted error rate of the attacker.",
)
@option(
    "--certainty",
    type=SHARE,
    default=0.5,
    metavar="P",
    group="Attacker",
    help="Certainty about one person, at most. [0.5]",
)
@option(
    "--scope",
    type=click.Choice(["all", "alone"]),
    default="all",
    group="Attacker",
    help="All reports leak, or one person's. [all]",
)
@guarantee_options
@option(
    "--mechanism",
    type=click.Choice(["rr", "glh", "auto"]),
    default="auto",
    group="Mechanism",
    help="Mechanism, or the more accurate of both. [auto]",
)
@option("--hash-size", type=COUNT, metavar="G", group="Mechanism", help="Hash values of glh. [the best]")
@option("--parameters", type=FILE, metavar="FILE", group="Output", help="Write the parameter document here.")
@public_option
@verbose_option
@quiet_option
@json_option
def calibrate(
    domain: int, bayes_error: float, parameters: Path | None, verbose: bool, quiet: bool, as_json: bool, **wanted: Any
) -> None:
    """Find the setting that guarantees a wanted error rate of the attacker at the least loss, and what it costs.

    \b
    entropie calibrate --users 1370637 --domain 10500393 --bayes-error 92%
    """
    from entropie.atomic import check_file, write_file
    from entropie.mechanisms.calibrate import UnreachableDocument
    from entropie.mechanisms.calibrate import calibrate as find
    from entropie.mechanisms.parameters import to_document

    if parameters is not None:
        check_file(parameters)
    try:
        result = find(domain_size=domain, bayes_error=bayes_error, **wanted)
    except Unreachable as problem:
        if as_json:  # the answer is no, and whoever reads standard output gets it too
            reason = problem.on_command_line(lambda name: f"--{name.replace('_', '-')}")
            output.print_json(UnreachableDocument(bayes_error, False, reason).to_json())
        raise
    if parameters is not None:
        write_file(parameters, to_document(result.mechanism) + "\n")
    if as_json:
        output.print_json(result.to_json())
    elif not quiet:
        output.show(calibration_text(result, verbose))
        if parameters is not None:
            output.show(f"\nParameters: {output.name(parameters)}")


def guarantee_text(given: Guarantee, verbose: bool = False) -> str:
    """The terminal view of a guarantee: the number, what it is about, what is not covered."""
    parts = [
        output.paragraph(_headline(given)),
        f"{_setting(given)}\n{_people(given)}",
        _all_bounds(given) if verbose else _bounds(given),
        output.paragraph(_scope(given)),
        output.paragraph(_not_covered(given)),
    ]
    if given.mechanism.theta == 0.0:
        parts.insert(1, output.paragraph("These reports are pure noise: nothing can be estimated from them."))
    return "\n\n".join(parts)


def calibration_text(result: Calibration, verbose: bool = False) -> str:
    """The terminal view of a calibration: the setting, what it guarantees, what it and each limit costs."""
    given = result.guarantee
    parts = [output.paragraph(_decision(result)), _setting(given)]
    if verbose:
        parts[-1] += f"\n{_people(given)}"
        parts += [_all_bounds(given), _costs(result), _settings_table(result)]
        parts += map(output.paragraph, (_paper_sentence(result), _scope(given)))
    else:
        parts.append(_bounds(given))
    parts += [_trade_off(result, verbose), output.paragraph(_why(result)), output.paragraph(_not_covered(given))]
    return "\n\n".join(parts)


def _headline(given: Guarantee) -> str:
    return (
        f"At most {words.percent(1.0 - given.all_reports.bayes_error)} of people can be re-identified by whoever holds "
        f"everybody's {_reports(given)} (by chance: {words.percent(_chance(given))})."
    )


def _reports(given: Guarantee) -> str:
    """What the store holds: entries of all people."""
    if given.reports_per_user == 1:
        return "reports"
    return "reports, linked by person" if given.all_reports.linked else "reports, not linked to each other"


def _chance(given: Guarantee) -> float:
    return given.prior_max or 1.0 / given.users


def _setting(given: Guarantee) -> str:
    """One line that names the mechanism."""
    from entropie.mechanisms.registry import mechanism_kind

    channel = given.mechanism
    line = f"{mechanism_kind(channel.kind).title.capitalize()}: epsilon {words.digits(channel.epsilon, 4)}"
    line += f", theta {words.digits(channel.theta, 4)}"
    if channel.hash_size is not None:
        line += f", {words.count(channel.hash_size)} hash values"
    return line


def _people(given: Guarantee) -> str:
    return (
        f"{words.plural(given.users, 'person', 'people')}, {words.count(given.mechanism.domain_size)} items, "
        f"{words.plural(given.reports_per_user, 'report')} per person"
    )


def _bounds(given: Guarantee) -> str:
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


def _all_bounds(given: Guarantee) -> str:
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


def _scope(given: Guarantee) -> str:
    return (
        "It holds for every distribution of the data and every attacker who knows all data but not who sent which "
        "report. The share is an average over people; the worst-case certainty is the most that one outcome can reveal."
    )


def _not_covered(given: Guarantee) -> str:
    more = "" if given.reports_per_user > 1 else "more reports of one person (--reports), "
    return (
        f"Not covered: {more}anything stored beside the reports, other data on the same people, inference without "
        "identification."
    )


def _decision(result: Calibration) -> str:
    """The setting to use, or that none is needed."""
    given, goal = result.guarantee, result.goal
    everybody = goal.scope == "all"
    named = 1.0 - (given.all_reports.list_error if everybody else given.list_error)
    whom = (
        f"by whoever holds everybody's {_reports(given)}"
        if everybody
        else f"from one person's {words.plural(given.reports_per_user, 'report')} leaked alone"
    )
    asked = f"{whom}{_guesses(given)} (asked for: an error rate of {words.stated(goal.bayes_error)})"
    if not result.noise_needed:
        return (
            f"No noise is needed: with pseudonyms alone at most {words.percent(named)} of people can be re-identified "
            f"{asked}. It is an average: a rare value may still point to one person."
        )
    certainty = given.all_reports.posterior_max if everybody else given.posterior_max
    return (
        f"Use {_NAMES[given.mechanism.hash_size is None]} with epsilon {words.digits(given.mechanism.epsilon, 4)}: at "
        f"most {words.percent(named)} of people can be re-identified {asked}. The worst outcome identifies one person "
        f"with {words.percent(certainty)} certainty."
    )


def _guesses(given: Guarantee) -> str:
    return f" with {given.list_size} guesses" if given.list_size > 1 else ""


def _costs(result: Calibration) -> str:
    """How exact estimates will be."""
    loss = result.expected_loss
    rows = [
        ["standard error of a share of 1 %", words.percent(loss.share_1pct_sd)],
        ["standard error of the share of a rare item", words.percent(loss.rare_item_sd)],
        ["smallest share that stands out from noise", words.percent(min(1.0, loss.detectable_share))],
    ]
    return output.table(["cost, one report per person", ""], rows)


def _trade_off(result: Calibration, verbose: bool) -> str:
    """What another limit on certainty would cost, the limit in use among them."""
    chosen = result.goal.certainty
    rows = [
        [
            f"{words.stated(row.certainty)}{' (chosen)' if row.certainty == chosen else ''}",
            f"{_NAMES[row.hash_size is None]}, epsilon {words.digits(row.epsilon)}",
            words.digits(row.l2_sum, 2),
        ]
        for row in result.trade_off
        if verbose or row.certainty in (chosen, 0.9, 1.0)
    ]
    return output.table(["worst-case certainty", "best setting", "squared error"], rows)


def _why(result: Calibration) -> str:
    """How exact estimates are, which limit decides, and what the squared error would be without each."""
    loss, costs = result.expected_loss, result.limit_costs
    exact = f"A share of 1 % has a standard error of {words.percent(min(1.0, loss.share_1pct_sd))}."
    if result.decided_by is None:
        return exact
    limits = {
        "the limit on certainty": costs.certainty,
        "the error rate": costs.bayes_error,
        "a leak of all reports": costs.all_reports,
    }
    spared = [f"without {name}: {_times(ratio)}" for name, ratio in limits.items() if ratio > 1.005]
    decided = "limit on certainty" if result.decided_by == "certainty" else "error rate"
    less = f" Squared error {'; '.join(spared)}." if spared else ""
    return f"{exact} The {decided} decides.{less}"


def _times(ratio: float) -> str:
    return "none" if math.isinf(ratio) else f"{words.digits(ratio, 2)} times less"


def _settings_table(result: Calibration) -> str:
    """The chosen setting beside the others that guarantee the same error rate."""
    settings = [(result.guarantee, result.expected_loss)]
    settings += [(other.guarantee, other.expected_loss) for other in result.alternatives]
    rows = [
        [
            _NAMES[given.mechanism.hash_size is None],
            words.digits(given.mechanism.epsilon, 6),
            f"{loss.l2_sum:.6g}",
            f"{given.all_reports.posterior_max:.6g}",
            f"{given.posterior_max:.6g}",
        ]
        for given, loss in settings
    ]
    return output.table(["the same limits by", "epsilon", "squared error", "certainty, all", "alone"], rows)


def _paper_sentence(result: Calibration) -> str:
    """What the paper's own bound would have allowed for the same guarantee."""
    if result.paper is None:
        return "The paper's bound guarantees this error rate at no setting."
    setting = f"epsilon {words.digits(result.paper.epsilon, 4)} (theta {words.digits(result.paper.theta, 4)})"
    if result.expected_loss.l2_sum == 0.0:
        return f"The paper's bound allows {setting} for the same error rate."
    ratio = result.paper.l2_sum / result.expected_loss.l2_sum
    return (
        f"The paper's bound allows {setting} for the same error rate, at {words.digits(ratio)} times the squared error."
    )
