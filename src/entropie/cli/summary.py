"""The terminal view of an assessment: what was found, how sure it is, what it does not show."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from entropie.cli import output

if TYPE_CHECKING:
    from entropie.assessment import Assessment, Attack
    from entropie.measures.convergence import Convergence
    from entropie.measures.summary import Measures

_FEW_PEOPLE = 30


def assessment_text(found: Assessment, name: str) -> str:
    """The terminal view of an assessment."""
    best, error = found.best, found.headline_error
    chosen = f", allowing for the choice among {len(found.attacks)} matchers" if len(found.attacks) > 1 else ""
    headline = (
        f"{_attacker(found)} With the strongest matcher ({best.matcher}) the right person is named for "
        f"{output.percent(1.0 - error.value)} of them (95 % interval {output.percent(1.0 - error.high)} to "
        f"{output.percent(1.0 - error.low)}{chosen}) among {output.count(found.users)} people; "
        f"guessing names {output.percent(1.0 - found.guessing_error)}."
    )
    size = f"{output.count(found.users)} people, {output.count(found.items)} items, {output.count(found.events)} events"
    lines = [
        f"{name}: {size}",
        *_left_out(found, found.input.get("dropped_users", 0)),
        "",
        output.paragraph(headline),
        *_cautions(found),
        "",
        output.table(*_attack_table(found)),
        "",
        output.paragraph(_exposure_sentence(found)),
        "",
        output.paragraph(_bits_sentence(found, best)),
        "",
        output.paragraph(_null_sentence(found)),
    ]
    if len(found.by_known_events) > 1:
        lines += ["", "By how many events of each person the attacker knows:", "", _known_events_table(found)]
    if found.users < _FEW_PEOPLE:
        lines += ["", output.paragraph(f"With {found.users} people these numbers say little about any other people.")]
    if found.convergence is None and found.split.get("converge"):
        lines += ["", "There are too few people to show how the bits change with their number (200 are needed)."]
    if found.convergence is not None:
        lines += ["", _convergence_text(found.convergence)]
    does_not_show = (
        "This does not show what an attacker with other data could do, what can be inferred about a person without "
        "naming her, or whether somebody is in the data at all."
    )
    return "\n".join([*lines, "", output.paragraph(does_not_show)])


def _convergence_text(found: Convergence) -> str:
    """Bits against number of people, and whether they have settled."""
    by_size: dict[int, list[float]] = {}
    for point in found.points:
        by_size.setdefault(point.users, []).append(point.pse.value_bits)
    rows = [
        [output.count(users), output.plain_bits(sum(values) / len(values)), str(len(values))]
        for users, values in by_size.items()
    ]
    slope = found.slope_bits
    ends = f"{output.plain_bits(slope.low)} to {output.plain_bits(slope.high)}"
    verdict = {True: "have settled", False: "have not settled", None: "cannot be said to have settled or not"}
    sentence = (
        f"With twice the people the bits change by {output.plain_bits(slope.value)} (95 % interval {ends}): they "
        f"{verdict[found.settled]}."
    )
    if found.limited:
        sentence += " Some of that is the limit of what fewer people can show, not a change of the people."
    return f"{output.table(['people', 'bits', 'samples'], rows)}\n\n{output.paragraph(sentence)}"


def _cautions(found: Assessment) -> list[str]:
    """What a reader must know before she relies on the first number."""
    lines = []
    there = found.input.get("users", found.users)
    if found.users < there:
        lines.append(
            f"That is about {output.count(found.users)} of the {output.count(there)} people in the data: the other "
            f"{output.count(there - found.users)} were not attacked (see what was left out); nothing is said of them."
        )
    if found.input.get("obfuscated"):
        lines.append(
            "Careful: these events are reports of a mechanism, and the attack does not know it. An attacker who does, "
            "and who knows people by their true events, names more of them. Assess the true events with --protect."
        )
    return [part for line in lines for part in ("", output.paragraph(line))]


def _left_out(found: Assessment, people: int) -> list[str]:
    lines = [*_guessed_columns(found)]
    dropped: dict[str, int] = found.input.get("dropped", {})
    lines += [f"left out: {output.count(rows)} rows, {reason}" for reason, rows in dropped.items() if rows]
    without = found.split.get("dropped_users", 0)
    if without:
        lines.append(f"left out: {output.count(without)} people with nothing to learn from or nothing to attack")
    if people:
        lines.append(f"left out: {output.count(people)} people with fewer than {found.input['min_events']} events")
    return lines


def _guessed_columns(found: Assessment) -> list[str]:
    """Say which columns were taken where the user did not name them."""
    columns = found.input.get("columns", {})
    no_time = "time" in columns and columns["time"]["column"] is None
    guessed = [
        f"{role} = {c['column']} (--{role})" for role, c in columns.items() if c["how"] == "guessed" and c["column"]
    ]
    lines = [f"columns guessed: {', '.join(guessed)}"] if guessed else []
    return [*lines, "no time column: rows are taken in the order of the file (--time)"] if no_time else lines


def _attacker(found: Assessment) -> str:
    """What the attacker knows and what she gets, in a sentence."""
    rule, known, asked = (found.split.get(name) for name in ("rule", "train_events", "target_events"))
    history = rule == "history"
    gets = "whole histories" if history else "the second half of each person's events"
    if asked:
        gets = f"the first {_events(asked)} of {gets}"
    if found.split.get("knowledge") == "maximum":
        return f"The attacker gets {gets} without names and holds the very same events with names."
    knows = "history" if history else "first half of each person's events"
    if known:
        knows = f"first {_events(known)} of each person" + ("" if history else "'s first half")
    return f"The attacker knows the {knows} and gets {gets} without names."


def _events(number: int) -> str:
    return "event" if number == 1 else f"{number} events"


def _attack_table(found: Assessment) -> tuple[list[str], list[list[str]]]:
    headers = ["matcher", "right", "95 % interval", "right in 10", "equal-error rate", "bits", "bits if permuted"]
    strongest_first = sorted(found.attacks, key=lambda attack: attack.error)
    return headers, [_attack_row(attack) for attack in strongest_first]


def _attack_row(attack: Attack) -> list[str]:
    measures = attack.measures
    error = measures.identification_error
    assert error is not None
    within = next((guess.error for guess in measures.top_k if guess.k == 10), None)
    return [
        attack.matcher,
        output.percent(1.0 - error.value),
        f"{output.percent(1.0 - error.high)} to {output.percent(1.0 - error.low)}",
        "" if within is None else output.percent(1.0 - within),
        output.percent(measures.eer.value),
        _bits(measures),
        "" if attack.null is None else output.plain_bits(attack.null.pse.value_bits),
    ]


def _bits(measures: Measures) -> str:
    """Bits, or the limit where the value lies beyond what the data can show."""
    pse = measures.pse
    if pse.value_bits > pse.resolvable_bits:
        return f"over {output.plain_bits(pse.resolvable_bits)}"
    return output.plain_bits(pse.value_bits)


def _bits_sentence(found: Assessment, best: Attack) -> str:
    pse = best.measures.pse
    value, low, high = (output.plain_bits(bits) for bits in (pse.value_bits, pse.low_bits, pse.high_bits))
    name, limit = output.plain_bits(math.log2(found.users)), output.plain_bits(pse.resolvable_bits)
    if pse.high_bits <= 0.0 or pse.value_bits <= 0.0:
        sentence = f"The scores of {best.matcher} show no information about who a person is"
    elif pse.value_bits > pse.resolvable_bits:
        sentence = f"The scores of {best.matcher} carry over {limit} bits about who a person is, all these data show"
    else:
        sentence = (
            f"The scores of {best.matcher} carry {value} bits about who a person is (95 % interval {low} to {high}; "
            f"these data can show up to {limit})"
        )
    people = output.count(found.users)
    sentence += f", in an unlimited population; {name} bits are enough to single out one of {people}."
    if pse.unmatched_genuine_share > 0.0:
        sentence += (
            f" For {output.percent(pse.unmatched_genuine_share)} of people no stranger scores as they do: there the "
            f"bits are a lower bound."
        )
    one, chance = output.plain_bits(found.pie_bits), output.plain_bits(found.pie_null_bits)
    sentence += (
        f" One single event carries {one} bits in these very data; dealt out to people by chance it carries {chance}"
    )
    if found.pie_bits <= found.pie_null_bits:
        return f"{sentence}, so that with so few events each nothing can be told from it."
    return f"{sentence}."


def _null_sentence(found: Assessment) -> str:
    if found.null_error is None:
        return "The check on permuted people was skipped."
    best = "the best of the same attacks" if len(found.attacks) > 1 else "the same attack"
    return (
        f"Check: with people permuted, so that there is nothing to find, {best} is right for "
        f"{output.percent(1.0 - found.null_error)} of them."
    )


def _known_events_table(found: Assessment) -> str:
    """How the attack grows with the number of events known."""
    most = found.split.get("train_events")
    rows = []
    for row in found.by_known_events:
        known = str(row.train_events or (f"all ({most})" if most else "all"))
        figure, error = row.figure, row.figure.error
        interval = f"{output.percent(1.0 - error.high)} to {output.percent(1.0 - error.low)}"
        rows.append([known, figure.matcher, output.percent(1.0 - error.value), interval, _bits(figure.measures)])
    return output.table(["events known", "matcher", "right", "95 % interval", "bits"], rows)


def _exposure_sentence(found: Assessment) -> str:
    """Whom an attacker would choose first."""
    most = found.most_exposed
    if most.share >= 1.0:
        return "No tenth of the people stands out as more at risk: the clearest matches are not more often right."
    uneven = "The risk is not spread evenly. " if most.right.low > 1.0 - found.headline_error.low else ""
    return (
        f"{uneven}Of the {output.count(most.people)} people whose match is clearest to {most.matcher} "
        f"({output.percent(most.share)} of all; the attacker sees how clear a match is without knowing the truth) "
        f"{output.percent(most.right.value)} are named rightly (95 % interval {output.percent(most.right.low)} to "
        f"{output.percent(most.right.high)})."
    )
