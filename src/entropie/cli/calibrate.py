"""`calibrate`: which setting gives a wanted guarantee at the least loss, and what each limit costs."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entropie import words
from entropie.cli import output
from entropie.cli.guarantee import (
    all_bounds_text,
    bounds_text,
    not_covered_text,
    people_text,
    reports_text,
    scope_text,
    setting_text,
)
from entropie.cli.options import (
    COUNT,
    FILE,
    NUMBER,
    SHARE,
    Command,
    guarantee_options,
    memory_option,
    one_of,
    option,
    public_option,
    viewed,
)
from entropie.errors import InvalidParameter, Unreachable

if TYPE_CHECKING:
    from entropie.mechanisms.calibrate import Alternative, Calibration, TradeOff
    from entropie.theory.guarantee import Guarantee


@click.command(cls=Command)
@option("--users", "Input", "Number of people.", COUNT, "N", required=True)
@option("--domain", "Input", "Number of items.", COUNT, "K", required=True)
@option("--top", "Input", "Count the PHI most frequent items. [all]", COUNT, "PHI")
@option("--zipf", "Input", "Their shares fall as 1/rank^S. [1]", NUMBER, "S")
@option("--shares", "Input", "Or: a file of their counts or shares.", FILE, "FILE")
@option("--bayes-error", "Attacker", "Wanted error rate of the attacker.", SHARE, "B", required=True)
@option("--certainty", "Attacker", "Certainty about one person, at most. [0.5]", SHARE, "P", default=0.5)
@option("--scope", "Attacker", "All reports leak, or one person's. [all]", one_of("all", "alone"), default="all")
@guarantee_options
@option(
    "--mechanism",
    "Mechanism",
    "rr, glh, subset, hadamard or unary. [the best]",
    one_of("rr", "glh", "subset", "hadamard", "unary", "auto"),
    "NAME",
    default="auto",
)
@option("--hash-size", "Mechanism", "Hash values of glh. [the best]", COUNT, "G")
@option("--max-epsilon", "Mechanism", "Privacy budget of one report, at most.", NUMBER, "E")
@option("--max-report-bits", "Mechanism", "Size of one report, at most.", COUNT, "B")
@option("--parameters", "Output", "Write the parameter document here.", FILE, "FILE")
@option("--chart", "Output", "Draw the trade-off here (.svg).", FILE, "FILE")
@public_option
@memory_option
@viewed()
def calibrate(
    domain: int,
    bayes_error: float,
    shares: Path | None,
    parameters: Path | None,
    chart: Path | None,
    memory: int | None,
    view: output.View,
    **wanted: Any,
) -> None:
    """Find the setting that guarantees a wanted error rate of the attacker at the least loss, and what it costs.

    \b
    entropie calibrate --users 1370637 --domain 10500393 --bayes-error 92%
    entropie calibrate --users 1M --domain 10k --bayes-error 90% --top 100
    """
    from entropie.atomic import write_file
    from entropie.mechanisms.calibrate import UnreachableDocument
    from entropie.mechanisms.calibrate import calibrate as find
    from entropie.mechanisms.parameters import to_document

    output.check_writable([shares], [parameters, chart])
    if chart is not None and chart.suffix != ".svg":
        raise InvalidParameter.of("chart", "a file that ends in .svg", chart.name)
    if shares is not None:
        from entropie.data.shares import read_shares

        wanted["shares"] = read_shares(shares, memory)
    try:
        result = find(domain_size=domain, bayes_error=bayes_error, **wanted)
    except Unreachable as problem:
        if view.as_json:  # the answer is no, and whoever reads standard output gets it too
            reason = problem.on_command_line(lambda name: f"--{name.replace('_', '-')}")
            output.print_json(UnreachableDocument(bayes_error, False, reason).to_json())
        raise
    if parameters is not None:
        write_file(parameters, to_document(result.mechanism) + "\n")
    if chart is not None:
        from entropie.drawing import svg
        from entropie.page.design_charts import trade_off
        from entropie.page.specs import WIDE

        write_file(chart, svg(trade_off(result), WIDE) + "\n")
    written = {"Parameters": parameters, "Chart": chart}
    named = [f"{what}: {output.name(path)}" for what, path in written.items() if path is not None]
    files = ["\n" + "\n".join(named)] if named else []
    view.show(result.to_json, lambda: "\n".join([calibration_text(result, view.verbose), *files]))


def calibration_text(result: Calibration, verbose: bool = False) -> str:
    """The terminal view of a calibration: the setting, what it guarantees, what it and each limit costs."""
    given = result.guarantee
    parts = [output.paragraph(_decision(result))]
    if verbose:
        parts += [f"{setting_text(given)}\n{people_text(given)}"]
        parts += [all_bounds_text(given), _costs(result), _settings_table(result), _trade_off_settings(result)]
        parts += map(output.paragraph, (_paper_sentence(result), scope_text(given)))
    else:
        parts += [bounds_text(given), _trade_off(result)]
    parts += map(output.paragraph, (f"{_exactness(result)} {_why(result)}".strip(), not_covered_text(given)))
    return "\n\n".join(parts)


def _title(kind: str) -> str:
    from entropie.mechanisms.registry import mechanism_kind

    return mechanism_kind(kind).title


def _named(result: Calibration) -> str:
    """The mechanism with its shape."""
    used = result.mechanism
    sizes = {"hash_size": "hash values", "subset_size": "items in a report"}
    shape = [f"{words.count(getattr(used, name))} {what}, " for name, what in sizes.items() if hasattr(used, name)]
    return f"{_title(used.kind)} ({''.join(shape)}{words.count(math.ceil(used.report_bits))} bits a report)"


def _decision(result: Calibration) -> str:
    """The setting to use, or that none is needed."""
    given, goal = result.guarantee, result.goal
    everybody = goal.scope == "all"
    if not result.noise_needed:
        given = result.pseudonymisation
    named = 1.0 - (given.all_reports.list_error if everybody else given.list_error)
    whom = (
        f"by whoever holds everybody's {reports_text(given)}"
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
        f"Use {_named(result)} with epsilon {words.digits(given.mechanism.epsilon, 4)}: at most "
        f"{words.percent(named)} of people can be re-identified {asked}. The worst outcome identifies one person "
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


def _trade_off(result: Calibration) -> str:
    """The squared error under another limit on certainty, by what leaks; the limit in use among them."""
    rows = result.trade_off
    scopes = list(dict.fromkeys(row.scope for row in rows))
    losses = {(row.certainty, row.scope): words.digits(row.loss, 2) for row in rows}
    limits = [limit for limit in sorted({row.certainty for row in rows}) if limit in (result.goal.certainty, 0.9, 1.0)]
    lines = [[_limit(result, limit), *(losses.get((limit, scope), "") for scope in scopes)] for limit in limits]
    leaked = {"all": "squared error: all reports leak", "alone": "one person's alone"}
    headers = [leaked[scope] for scope in scopes]
    if scopes == ["alone"]:
        headers = ["squared error"]
    return output.table(["worst-case certainty", *headers], lines)


def _limit(result: Calibration, certainty: float) -> str:
    return f"{words.stated(certainty)}{' (chosen)' if certainty == result.goal.certainty else ''}"


def _trade_off_settings(result: Calibration) -> str:
    """The same with the settings behind it."""
    rows = [
        [_limit(result, row.certainty), row.scope, _best(row), words.digits(row.loss, 2)] for row in result.trade_off
    ]
    return output.table(["certainty", "leak", "best setting", "squared error"], rows)


def _best(row: TradeOff) -> str:
    size = row.hash_size or row.subset_size
    sized = "" if size is None else f" of {words.count(size)}"
    return f"{_title(row.kind)}{sized}, epsilon {words.digits(row.epsilon)}"


def _exactness(result: Calibration) -> str:
    """How exact estimates are, and over which items the squared error was made small."""
    loss, counted = result.expected_loss, result.goal.counted
    text = f"A share of 1 % has a standard error of {words.percent(min(1.0, loss.share_1pct_sd))}."
    if counted.items < result.goal.domain_size:
        text += (
            f" Squared error counts for the {words.count(counted.items)} most frequent items "
            f"({words.percent(counted.mass)} of reports): {words.digits(loss.loss, 2)}."
        )
    return text


def _why(result: Calibration) -> str:
    """Why this mechanism, and what the squared error would be without each limit."""
    if not result.noise_needed:
        return ""
    others = [f"{_title(other.mechanism.kind)} {_ratio(other, result)}" for other in result.alternatives[:2]]
    costs = result.limit_costs
    limits = {
        "the limit on certainty": costs.certainty,
        "the error rate": costs.bayes_error,
        "a leak of all reports": costs.all_reports,
        "the limit on epsilon": costs.epsilon,
        "the limit on size": costs.report_bits,
    }
    spared = [f"without {name} {_times(ratio)}" for name, ratio in limits.items() if ratio > 1.005]
    compared = "; ".join(", ".join(one) for one in (others, spared) if one)
    text = f"Squared error: {compared}." if compared else ""
    if costs.all_reports > 1.005 and costs.certainty > 1.005:
        text += f" {_twice(result)}"
    return text


def _twice(result: Calibration) -> str:
    """What the certainty allows, by what leaks."""
    from entropie.mechanisms.design import allowed_epsilon

    goal = result.goal
    together, alone = (words.digits(allowed_epsilon(one)) for one in (goal, replace(goal, scope="alone")))
    return (
        f"A certainty of {words.stated(goal.certainty)} allows epsilon {together} where all reports leak, {alone} "
        "with --scope alone."
    )


def _ratio(other: Alternative, result: Calibration) -> str:
    theirs, ours = other.expected_loss.loss, result.expected_loss.loss
    if theirs == ours or (ours > 0.0 and 0.95 <= theirs / ours <= 1.05):
        bits = words.count(math.ceil(other.mechanism.report_bits))
        return f"the same in {bits} bits"
    return "without limit" if math.isinf(theirs) or ours == 0.0 else f"{words.digits(theirs / ours, 2)} times"


def _times(ratio: float) -> str:
    return "0" if math.isinf(ratio) else f"{words.digits(ratio, 2)} times less"


def _settings_table(result: Calibration) -> str:
    """The chosen setting beside the others that guarantee the same error rate."""
    settings = [(result.mechanism, result.guarantee, result.expected_loss)]
    settings += [(other.mechanism, other.guarantee, other.expected_loss) for other in result.alternatives]
    rows = [
        [
            _title(used.kind),
            words.digits(used.epsilon, 6),
            f"{loss.loss:.6g}",
            words.count(math.ceil(used.report_bits)),
            f"{given.all_reports.posterior_max:.6g}",
            f"{given.posterior_max:.6g}",
        ]
        for used, given, loss in settings
    ]
    return output.table(["the same limits by", "epsilon", "squared error", "bits", "certainty, all", "alone"], rows)


def _paper_sentence(result: Calibration) -> str:
    """What the paper's own bound would have allowed for the same guarantee."""
    if result.paper is None:
        return "The paper's bound guarantees this error rate at no setting."
    setting = f"epsilon {words.digits(result.paper.epsilon, 4)} (theta {words.digits(result.paper.theta, 4)})"
    if result.expected_loss.loss == 0.0:
        return f"The paper's bound allows {setting} for the same error rate."
    ratio = result.paper.loss / result.expected_loss.loss
    return (
        f"The paper's bound allows {setting} for the same error rate, at {words.digits(ratio)} times the squared error."
    )
