"""`guarantee` and `calibrate`: what is promised, and which setting promises it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entropie.cli import output
from entropie.cli.options import COUNT, build_mechanism, guarantee_options, json_option, mechanism_options
from entropie.errors import Unreachable

if TYPE_CHECKING:
    from entropie.mechanisms.calibrate import Calibration
    from entropie.theory.guarantee import Guarantee


@click.command()
@mechanism_options
@click.option("--domain", type=COUNT, required=True, metavar="K", help="How many items there are.")
@click.option("--users", type=COUNT, required=True, metavar="N", help="How many people there are.")
@guarantee_options
@json_option
def guarantee(users: int, reports: int, list_size: int, prior_max: float | None, as_json: bool, **options: Any) -> None:
    """Say what a mechanism promises, whatever the data and whatever the attacker knows.

    \b
    entropie guarantee --mechanism rr --domain 10500393 --users 1370637 --epsilon 12.72
    """
    if options["mechanism"] is None:
        raise click.UsageError("Missing option '--mechanism'. Choose from: rr, glh.")
    built = build_mechanism(**options)
    promise = built.guarantee(users=users, reports=reports, list_size=list_size, prior_max=prior_max)
    if as_json:
        output.print_json(promise.to_json())
    else:
        click.echo(promise_text(promise))


@click.command()
@click.option("--users", type=COUNT, required=True, metavar="N", help="How many people there are.")
@click.option("--domain", type=COUNT, required=True, metavar="K", help="How many items there are.")
@click.option("--bayes-error", type=float, required=True, metavar="B", help="Wanted share of wrong identifications.")
@click.option(
    "--mechanism",
    type=click.Choice(["rr", "glh", "auto"]),
    default="auto",
    show_default=True,
    help="Randomized response, local hashing, or the one with the smaller expected loss.",
)
@click.option(
    "--hash-size", type=COUNT, metavar="G", help="Hash values of glh. Default: so many that they cost no accuracy."
)
@guarantee_options
@click.option(
    "--parameters",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the parameter document here, for `obfuscate` and `estimate`.",
)
@json_option
def calibrate(
    users: int,
    domain: int,
    bayes_error: float,
    mechanism: Any,
    hash_size: int | None,
    reports: int,
    list_size: int,
    prior_max: float | None,
    parameters: Path | None,
    as_json: bool,
) -> None:
    """Find the setting that promises a wanted re-identification error, and what it costs.

    \b
    entropie calibrate --users 1370637 --domain 10500393 --bayes-error 0.92
    """
    from entropie.mechanisms.calibrate import calibrate as find
    from entropie.mechanisms.calibrate import calibration_json
    from entropie.mechanisms.parameters import to_document

    try:
        result = find(
            users=users,
            domain_size=domain,
            bayes_error=bayes_error,
            mechanism=mechanism,
            hash_size=hash_size,
            reports=reports,
            list_size=list_size,
            prior_max=prior_max,
        )
    except Unreachable as problem:
        if as_json:  # the answer is no, and whoever reads standard output gets it too
            output.print_json({"bayes_error_wanted": bayes_error, "reachable": False, "reason": str(problem)})
        raise
    if parameters is not None:
        from entropie.data.columns import write_text

        write_text(parameters, to_document(result.mechanism) + "\n")
    if as_json:
        output.print_json(calibration_json(result))
    else:
        click.echo(calibration_text(result))
        if parameters is not None:
            click.echo(f"\nParameter document: {parameters}")


def promise_text(promise: Guarantee) -> str:
    """The terminal view of a guarantee."""
    channel, users = promise.mechanism, promise.users
    rows = [
        ["information about the user, at most", output.bits(promise.alpha_bits), output.bits(promise.alpha_bits_paper)],
        ["attacker's error, at least", output.percent(promise.bayes_error), output.percent(promise.bayes_error_paper)],
        ["  weaker, by Fano's inequality", output.percent(promise.bayes_error_fano), ""],
    ]
    if promise.list_size > 1:
        rows.append([f"  with {promise.list_size} guesses", output.percent(promise.list_error), ""])
    if promise.alpha_bits_ideal_hash is not None and promise.bayes_error_ideal_hash is not None:
        ideal = output.percent(promise.bayes_error_ideal_hash)
        rows.append(["  if the hash were ideal: information", output.bits(promise.alpha_bits_ideal_hash), ""])
        rows.append(["  if the hash were ideal: error", ideal, ""])
    rows += [
        ["maximal leakage", output.bits(promise.max_leakage_bits), ""],
        ["information about any one user", output.bits(promise.per_user_bits), ""],
        ["certainty about a user, at most", output.percent(promise.posterior_max), ""],
        ["share of the data's information kept", output.percent(promise.contraction), ""],
    ]
    best = promise.prior_max or 1.0 / users
    meaning = (
        f"An attacker who knows everything about the data except who sent the report names the right person in at most "
        f"{output.percent(1.0 - promise.bayes_error)} of cases, averaged over people; guessing alone gives "
        f"{output.percent(best)}. It holds for every distribution of the data. It says nothing about attributes that "
        f"can be inferred without naming anybody, nor about other data released on the same people."
    )
    people = (
        f"{output.count(users)} users, {output.count(promise.reports_per_user)} report(s) each; "
        f"naming one of them takes {output.bits(math.log2(users))}"
    )
    if promise.posterior_max > 0.5:
        meaning += (
            f" It is an average: what one person sends may point to her with up to "
            f"{output.percent(promise.posterior_max)} certainty."
        )
    return "\n".join(
        [
            mechanism_line(promise),
            people,
            "",
            output.table(["promise", "certified", "paper"], rows),
            "",
            output.paragraph(meaning),
            *(["", _RANDOM_NOISE] if channel.theta == 0.0 else []),
        ]
    )


_RANDOM_NOISE = (
    "The truth is never told at this setting: reports are pure noise and nothing can be estimated from them."
)


def mechanism_line(promise: Guarantee) -> str:
    """One line that names the mechanism."""
    channel = promise.mechanism
    name = "Randomized response" if channel.hash_size is None else "Local hashing"
    line = f"{name} over {output.count(channel.domain_size)} items"
    if channel.hash_size is not None:
        line += f", {output.count(channel.hash_size)} hash values (prime {channel.prime})"
    return f"{line}: epsilon {output.number(channel.epsilon)}, theta {output.number(channel.theta)}"


def calibration_text(result: Calibration) -> str:
    """The terminal view of a calibration."""
    loss, bare = result.expected_loss, result.pseudonymisation
    lines = [f"Wanted: an attacker errs in at least {output.percent(result.bayes_error_wanted)} of cases", ""]
    if not result.noise_needed:
        lines += [
            output.paragraph(
                f"No noise is needed: with pseudonyms alone an attacker already errs in at least "
                f"{output.percent(bare.bayes_error)} of cases, because the data can say at most "
                f"{output.bits(bare.alpha_bits)} about who sent them. That is an average: a rare value may "
                f"still belong to one person only."
            ),
            "",
        ]
    lines += [promise_text(result.guarantee), ""]
    rows = [
        ["summed squared error of all shares", output.number(loss.l2_sum)],
        ["standard error, an item hardly anybody has", output.percent(loss.rare_item_sd)],
        ["standard error, an item of 1 % of reports", output.percent(loss.share_1pct_sd)],
        ["smallest share that stands out from noise", output.percent(min(1.0, loss.detectable_share))],
    ]
    lines += [output.table(["expected from one report per user", ""], rows), ""]
    if result.alternatives:
        lines += [_settings_table(result), ""]
    lines.append(output.paragraph(_paper_sentence(result)))
    return "\n".join(lines)


def _settings_table(result: Calibration) -> str:
    """The chosen setting beside the others that promise the same average error."""
    settings = [(result.guarantee, result.expected_loss)]
    settings += [(other.guarantee, other.expected_loss) for other in result.alternatives]
    rows = [
        [
            "randomized response" if promise.mechanism.hash_size is None else "local hashing",
            output.number(promise.mechanism.epsilon),
            output.number(loss.l2_sum),
            output.percent(promise.posterior_max),
        ]
        for promise, loss in settings
    ]
    return output.table(["the same promise by", "epsilon", "summed error", "certainty about one user"], rows)


def _paper_sentence(result: Calibration) -> str:
    """What the paper's own bound would have allowed for the same promise."""
    if result.paper is None:
        return "The paper's bound promises this error at no setting."
    setting = f"epsilon {output.number(result.paper.epsilon)} (theta {output.number(result.paper.theta)})"
    if result.expected_loss.l2_sum == 0.0:
        return f"By the paper's bound the same promise allows {setting}."
    ratio = result.paper.l2_sum / result.expected_loss.l2_sum
    return (
        f"By the paper's bound the same promise allows {setting}, whose summed squared error is "
        f"{output.number(ratio)} times as large."
    )
