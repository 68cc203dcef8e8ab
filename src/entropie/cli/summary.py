"""An assessment in the terminal: the decision, the number, how sure, who could do it, what next; all with --verbose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from entropie.cli import output
from entropie.cli.commands import command_line
from entropie.cli.verdicts import conditions, files_text, rests_on
from entropie.document.assessment import NAMES, SplitFacts, leading
from entropie.words import bits, count, interval, listed, percent, plural

if TYPE_CHECKING:
    from entropie.assessment import Assessment
    from entropie.attack.attacker import AttackerRow
    from entropie.attack.measured import Attack
    from entropie.measures.convergence import Convergence
    from entropie.measures.intervals import Interval
    from entropie.measures.projection import Projection

_FEW_PEOPLE = 30
_POINTS = 4
_ASSUMED = {
    "order": ("the order of events alone", "--time-format s: they are seconds"),
    "seconds": ("seconds since 1970", "--time-format order: they number events"),
}
_NOT_COVERED = (
    "Not covered: attackers with other data, what can be inferred about a person without re-identifying them, "
    "whether somebody is in the data at all."
)
_OWN_INTERVALS = (
    "These intervals are of each matcher by itself; that of the strongest in the first line is wider, because it was "
    "chosen among them. Control bits: with identities shuffled."
)


def assessment_text(
    result: Assessment, name: str, files: Sequence[Path], *, verbose: bool, sweep: str | None = None
) -> str:
    """The first screen, and with `verbose` all that stands behind it; `sweep` is the command that looks for less."""
    parts = [_headline(result), "\n".join(_people(result, name)), _attacker_table(result)]
    if result.projection is not None:
        parts.append(output.paragraph(_projected(result.projection, result.document["projection"]["judged"])))
    cautions = _cautions(result)
    if cautions:
        parts.append("\n".join(output.paragraph(line) for line in cautions))
    if result.document.get("protection"):
        from entropie.cli.protection import protection_text

        parts.append(protection_text(result.document, verbose=verbose))
    if verbose:
        parts += _details(result)
    elif result.document.get("windows"):
        parts.append(windows_text(result.document["windows"]))
    parts.append(output.paragraph(_NOT_COVERED))
    return "\n\n".join([*parts, _next_steps(result, sweep, files)])


def _headline(result: Assessment) -> str:
    """The decision and the number it rests on; without a limit, the number."""
    verdict = result.verdict
    if verdict is None:
        share, exposed = result.reidentified, result.most_exposed
        ends = f"95 % confidence interval {interval(share)}"
        text = f"{percent(share.value)} of {_assessed(result)} are re-identified ({ends})"
        if exposed.share < 1.0:
            right = f"{percent(exposed.right.value)} ({interval(exposed.right)})"
            text += f"; of the most exposed {percent(exposed.share)}, {right}"
        return output.paragraph(f"{text}.")
    lines = output.paragraph(verdict["headline"])
    more = "; attack more with --targets" if result.best.measures.targets < result.users else ""
    return "\n".join([lines, *map(output.paragraph, conditions(verdict, more))])


def _assessed(result: Assessment) -> str:
    """Whose share it is: not everybody's, where people were excluded."""
    total = result.input.get("users") or 0
    if total <= result.assessed:
        return "people"
    return f"the {plural(result.assessed, 'person', 'people')} assessed (of {count(total)})"


def _people(result: Assessment, name: str) -> list[str]:
    """Whom this is about, who was excluded, and which columns were taken."""
    facts, covered = result.input, result.assessed
    people = f"{count(covered)} people"
    if (facts.get("users") or 0) > covered:
        people = f"{count(covered)} of {count(facts['users'])} people assessed"
    items, events = (facts["items"], facts["events"]) if covered > result.users else (result.items, result.events)
    sizes = f"{plural(items, 'item')}, {plural(events, 'event')}"
    lines = [output.paragraph(f"{name}: {people}, {sizes}")]
    few = []
    if facts.get("dropped_users"):
        events = f"fewer than {plural(facts['min_events'], 'event')}"
        few.append(f"{plural(facts['dropped_users'], 'person', 'people')} with {events}")
    if result.split.get("dropped_users"):
        few.append(f"{plural(result.split['dropped_users'], 'person', 'people')} with nothing to attack")
    excluded = [f"{plural(rows, 'row')} ({reason})" for reason, rows in facts.get("dropped", {}).items() if rows]
    if covered > result.users:
        lines.append(output.paragraph(f"Attacked by known events alone: {'; '.join(few)}."))
    else:
        excluded = [*few, *excluded]
    if excluded:
        lines.append(output.paragraph(f"Excluded: {'; '.join(excluded)}."))
    targets = result.best.measures.targets
    if targets < result.users:
        lines.append(output.paragraph(f"Attacked: {count(targets)} of them, drawn at random, each among all."))
    return [*lines, *_columns(facts)]


def _columns(facts: dict[str, Any]) -> list[str]:
    """Which columns were taken where nobody named them."""
    columns = facts.get("columns", {})
    guessed = [f"{role} = {c['column']}" for role, c in columns.items() if c["how"] == "guessed" and c["column"]]
    lines = []
    if guessed:
        flags = ", ".join(f"--{role}" for role, c in columns.items() if c["how"] == "guessed" and c["column"])
        lines.append(output.paragraph(f"Columns guessed: {', '.join(guessed)} (change with {flags})."))
    several = (facts.get("categories") or {}).get("items_with_several")
    if several:
        lines.append(f"{plural(several, 'item')} with several categories: the one that most rows name is taken.")
    lines += _times(facts)
    if "time" in columns and columns["time"]["column"] is None:
        lines.append("No time column: rows are in the order of the file (--time names one).")
    if facts.get("time_assumed") in _ASSUMED:
        taken, other = _ASSUMED[facts["time_assumed"]]
        lines.append(output.paragraph(f"Times are small numbers, taken for {taken} ({other})."))
    return lines


def _times(facts: dict[str, Any]) -> list[str]:
    """How times were read, where that was not plain."""
    lines = []
    if facts.get("order_told"):
        lines.append(f"Dates are read {facts['time_format']}: no other order fits all of them (--time-format).")
    if facts.get("repeated_times"):
        times = plural(facts["repeated_times"], "event")
        zone = output.name(facts["time_zone"])
        lines.append(f"{times} at an hour that clocks in {zone} show twice: read as the first.")
    return lines


def _attacker_table(result: Assessment) -> str:
    """Who could re-identify how many, beside chance and the control."""
    shown = [result.attackers[place] for place in _shown(result.attackers)]
    rows = [[_name(row), _knows(row, result), _share(row.reidentified)] for row in shown]
    rows.append(["chance", "nothing", percent(1.0 - result.guessing_error)])
    controls = [row.control.value for row in shown if row.control is not None]
    if controls:
        rows.append(["control", "identities shuffled", percent(max(controls))])
    table = output.table(["attacker", "knows", "re-identified"], rows, left=2)
    return table if result.verdict is None else f"{table}\n{output.paragraph(_judged(result, shown))}"


def _judged(result: Assessment, shown: Sequence[AttackerRow]) -> str:
    """How the table goes with the verdict: why intervals differ, and whose number does not count."""
    judged = {row.attacker for row in result.attackers if row.in_scope}
    others = dict.fromkeys(_name(row).removeprefix("... ") for row in shown if row.attacker not in judged)
    not_judged = f" Not judged: {listed(others)}." if others else ""
    return f"Each interval is of one attacker; the verdict's allows for choosing the worst.{not_judged}"


def _shown(rows: Sequence[AttackerRow]) -> list[int]:
    """One row per attacker; of points also what the hour tells, and points that may be wrong."""
    places = leading(rows)
    finest = next((rows[place].time_resolution for place in places if rows[place].attacker == "points"), None)
    coarser = [
        place
        for place, row in enumerate(rows)
        if row.attacker == "points" and row.points == _POINTS and place not in places
        if row.time_resolution == ("hour" if row.matcher is None else finest)
    ]
    points = [place for place in places if rows[place].attacker == "points"]
    return [*points, *coarser, *(place for place in places if place not in points and rows[place].attacker != "crowd")]


def _name(row: AttackerRow) -> str:
    if row.attacker != "points" or row.points is None:
        return NAMES[row.attacker]
    return plural(row.points, "known event") if row.matcher is None else "... with errors"


def _knows(row: AttackerRow, result: Assessment) -> str:
    """What an attacker knows, in the few letters that the table has."""
    if row.attacker == "points":
        if row.matcher is not None:
            return row.knows.split(", ", 2)[-1]
        return "items" if row.time_resolution == "none" else f"items, times to the {row.time_resolution}"
    if row.attacker in ("joint", "crowd"):
        return "the same"
    split = _split(result)
    if row.attacker != "profile" or split.knowledge == "maximum":
        return row.knows
    if split.train_events is not None:
        return f"first {plural(split.train_events, 'event')} of each"
    return f"events before {split.cut}" if split.cut else "first half of each trace"


def _projected(found: Projection, judged: bool) -> str:
    """What the population declared makes of it."""
    among = f"Among the {count(found.population)} people declared"
    if found.reidentified is None:
        return f"{among}: not projected ({found.reason})."
    used = "judged" if judged else "not judged"
    return f"{among}: {_share(found.reidentified)} re-identified, projected from the people at hand and {used}."


def _share(right: Interval) -> str:
    return f"{percent(right.value)} ({interval(right)})"


def _split(result: Assessment) -> SplitFacts:
    return msgspec.convert(result.split, SplitFacts)


def _cautions(result: Assessment) -> list[str]:
    """What a reader must know before relying on the first number."""
    lines = []
    if result.input.get("obfuscated") and not any(row.attacker == "reports" for row in result.attackers):
        lines.append(
            "Warning: these events are reports of a mechanism, and no attacker here uses its parameters; one who does "
            "re-identifies more people. Name what people really did with --known FILE, or assess it with --protect."
        )
    lines += _known_notes(result)
    failed = sorted({NAMES[row.attacker] for row in result.attackers if row.failed and row.matcher == "fused"})
    if failed:
        lines.append(
            f"Worse than guessing: {', '.join(failed)}. The model does not fit these data, which is no sign of safety."
        )
    if result.users < _FEW_PEOPLE:
        lines.append(f"With {result.users} people these numbers say little about any other people.")
    return lines


def _known_notes(result: Assessment) -> list[str]:
    """How much of the attacker's own file is in the release, and what is odd about it."""
    facts = result.input.get("known")
    if facts is None:
        return []
    both = f"{count(facts['in_both'])} of {plural(facts['people'], 'person', 'people')}"
    return [f"The attacker's own file: {both} are in the release.", *facts["notes"]]


def _next_steps(result: Assessment, sweep: str | None, files: Sequence[Path]) -> str:
    """What to do now, and where to read more."""
    lower = "entropie sweep" if result.document.get("protection") else "--protect 0.9, entropie sweep"
    lines, verdict = [], result.verdict
    if verdict is None:
        lines.append(f"Next:   judge it (--profile ema), lower it ({lower})")
    elif verdict["decision"] == "INCONCLUSIVE" and verdict["judged_risk"]["high"] <= verdict["limit"]:
        lines.append("Next:   settle what is open (above); what was found is within the limit")
    elif not verdict["decision"].startswith("PASS"):
        first = "" if verdict["people_needed"] is None else "attack more people (above), or "
        if verdict["unsettled"] and verdict["decision"] != "FAIL":
            first = "settle what is open (above), "
        lines.append(f"Next:   {first}lower it ({lower})")
    if sweep is not None and lines and lower in lines[-1]:
        lines.append(command_line("Sweep:", sweep))
    lines += files_text(files)
    return "\n".join(lines)


def _details(result: Assessment) -> list[str]:
    """All matchers, information, known events, windows: the annex of the first screen."""
    parts = []
    if result.verdict is not None:
        parts.append("\n".join(rests_on(result.document)))
    parts += [output.table(*_matchers(result)), output.paragraph(_information(result))]
    if len(result.attacks) > 1:
        parts[-2] += f"\n{output.paragraph(_OWN_INTERVALS)}"
    if len(result.by_known_events) > 1:
        parts.append(_known_events(result))
    if result.split.get("converge"):
        parts.append(_convergence(result.convergence))
    if result.document.get("windows"):
        parts.append(windows_text(result.document["windows"]))
    return parts


def _matchers(result: Assessment) -> tuple[list[str], list[list[str]]]:
    headers = ["matcher", "re-identified", "95 % CI", "in 10 guesses", "EER", "bits", "control bits"]
    return headers, [_matcher_row(attack) for attack in sorted(result.attacks, key=lambda attack: attack.error)]


def _matcher_row(attack: Attack) -> list[str]:
    measures = attack.measures
    error = measures.identification_error
    assert error is not None
    within = next((guess.error for guess in measures.top_k if guess.k == 10), None)
    return [
        attack.matcher,
        percent(1.0 - error.value),
        interval(error.complement),
        "" if within is None else percent(1.0 - within),
        percent(measures.equal_error_rate.value),
        output.shown_bits(measures.pse_bits),
        "" if attack.null is None else bits(attack.null.pse_bits.value),
    ]


def _information(result: Assessment) -> str:
    """The paper's measures in sentences: PSE of the scores, PIE of one event."""
    pse, name = result.best.measures.pse_bits, bits(math.log2(result.users))
    if pse.high <= 0.0 or pse.value <= 0.0:
        said = "The scores show no information about who a person is"
    elif pse.value > pse.resolvable:
        said = f"The scores carry over {bits(pse.resolvable)} bits about who a person is, all these data can show"
    else:
        ends = f"95 % CI {bits(pse.low)} to {bits(pse.high)}"
        said = (
            f"The scores carry {bits(pse.value)} bits about who a person is ({ends}; these data can show up to "
            f"{bits(pse.resolvable)})"
        )
    said = f"EER: equal-error rate. Bits: personal score entropy (PSE). {said}, in an unlimited population; "
    said += f"{name} bits single out one of {count(result.users)}."
    if pse.unmatched_genuine_share > 0.0:
        said += (
            f" For {percent(pse.unmatched_genuine_share)} of people no stranger scores as they do: there the bits are "
            "a lower bound."
        )
    one, chance = bits(result.pie_bits), bits(result.pie_null_bits)
    said += f" One event carries {one} bits in these data (PIE); shuffled among people, {chance}"
    return f"{said}: no more than chance." if result.pie_bits <= result.pie_null_bits else f"{said}."


def _known_events(result: Assessment) -> str:
    """How the attack grows with the number of events known."""
    most = result.split.get("train_events")
    rows = []
    for row in result.by_known_events:
        known = str(row.train_events or (f"all ({most})" if most else "all"))
        best = row.figure
        rows.append(
            [
                known,
                best.matcher,
                percent(best.right.value),
                interval(best.right),
                output.shown_bits(best.measures.pse_bits),
            ]
        )
    return output.table(["events known", "matcher", "re-identified", "95 % CI", "bits"], rows)


def _convergence(found: Convergence | None) -> str:
    """Bits against number of people, and whether they have settled."""
    if found is None:
        return "Too few people to show how the bits change with their number (200 are needed)."
    by_size: dict[int, list[float]] = {}
    for point in found.points:
        by_size.setdefault(point.users, []).append(point.pse_bits.value)
    rows = [[count(users), bits(sum(values) / len(values)), str(len(values))] for users, values in by_size.items()]
    slope = found.slope_bits_per_doubling
    settled = {True: "have settled", False: "have not settled", None: "cannot be said to have settled or not"}
    said = (
        f"With twice the people the bits change by {bits(slope.value)} (95 % CI {bits(slope.low)} to "
        f"{bits(slope.high)}): they {settled[found.settled]}."
    )
    if found.limited:
        said += " Some of that is the limit of what fewer people can show."
    return f"{output.table(['people', 'bits', 'samples'], rows)}\n\n{output.paragraph(said)}"


def windows_text(windows: Sequence[dict[str, Any]]) -> str:
    """The risk of each window of time, and what it means."""
    rows = [_window_row(window) for window in windows]
    lines = [output.table(["from", "to", "people", "events", "re-identified", "by who knows"], rows)]
    skipped = [window for window in windows if window["reason"]]
    if skipped:
        more = f" The same holds for {len(skipped) - 1} more." if len(skipped) > 1 else ""
        lines += ["", output.paragraph(f"Not attacked, from {skipped[0]['from']}: {skipped[0]['reason']}{more}")]
    if windows and not windows[-1]["complete"]:
        lines += ["", output.paragraph("The data end before the last window does.")]
    run: Sequence[str] = next((window["attackers_run"] for window in windows if window["attackers_run"]), [])
    said = f" Run: {', '.join(run)}; the strongest counts." if run else ""
    known = "Each window is attacked with what was known within it: first half, second half, or some of its events."
    lines += ["", output.paragraph(f"{known}{said}")]
    return "\n".join(lines)


def _window_row(window: dict[str, Any]) -> list[str]:
    error = window["identification_error"]
    share = "" if error is None else f"{percent(1.0 - error['value'])}"
    if error is not None:
        share += f" ({percent(1.0 - error['high'])[:-2]} to {percent(1.0 - error['low'])})"
    sizes = count(window["users"]), count(window["events"])
    return [window["from"], window["to"], *sizes, share, "" if error is None else NAMES[window["attacker"]]]
