"""Protection for a wanted error rate of the attacker: what is guaranteed, what an attack still gets, what is kept.

Rows side by side: the data as they are, pseudonyms alone, randomized response and local hashing, each calibrated to
these people and these items, drawn, estimated and attacked again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec.structs import replace

from entropie.attack.attacker import AttackerRow, Release, judged, strongest_row
from entropie.attack.features import item_rows
from entropie.attack.matchers import matcher
from entropie.attack.measured import measure_outcome
from entropie.attack.points import JUDGED_POINTS, PointAttack
from entropie.attack.scoring import attack
from entropie.attack.single import pie_bits
from entropie.data.prepare import prepare
from entropie.data.split import Split
from entropie.data.traces import Traces
from entropie.document.protection import ProtectionAttack, ProtectionGoal, ProtectionGuarantee, ProtectionRow, Utility
from entropie.errors import interruptible
from entropie.measures.best import level_among
from entropie.measures.identification import identification_error
from entropie.measures.intervals import share_interval
from entropie.mechanisms.identity import Identity
from entropie.mitigate.attacked import rows_on
from entropie.mitigate.frontier import frontier
from entropie.mitigate.obfuscation import (
    Leak,
    Noisy,
    Senders,
    Wanted,
    attack_knowing,
    attack_on,
    best_hashing,
    best_response,
    exact_utility,
    measure_utility,
    people_needed,
    wanted_error_value,
)
from entropie.mitigate.protection import (
    AsItIs,
    Protection,
    figure,
    guarantee_part,
    knowing_sentence,
    mechanism_part,
    noisy_sentence,
    pseudonyms_sentence,
    sends,
    told,
    untouched_sentence,
)
from entropie.mitigate.windows import matchers_of
from entropie.plan.expected import foretell_matchers
from entropie.progress import Progress
from entropie.request import Request, Run
from entropie.theory import fano

_PLAIN_MATCHERS = ("visit", "bayes", "pitman_yor")
_MODELS = "visit vectors through the mechanism"
_ANY_RUN = Run()
_NO_OPTIONS = (
    "events",
    "error",
    "reports_per_user",
    "max_epsilon",
    "leak",
)  # of `protect`; all others are of a request
Name = Literal["as it is", "pseudonyms alone", "randomized response", "local hashing"]


@interruptible
def protect(
    events: object,
    error: float,
    *,
    user: str | None = None,
    item: str | None = None,
    time: str | None = None,
    rating: str | None = None,
    preset: str | None = None,
    min_rating: float | None = None,
    grid: str | None = None,
    min_events: int = 10,
    targets: int | str | None = None,
    max_dirty_share: float = 0.01,
    matchers: Sequence[str] | None = None,
    reports_per_user: int = 1,
    max_epsilon: float | None = None,
    leak: Leak = "alone",
    seed: int = 0,
    threads: int | None = None,
    memory: int | str | None = None,
    progress: Progress | None = None,
) -> Protection:
    """Find noise that gives an attacker this error rate at least, and say what it costs.

    The attacker sees one person's reports (`leak="alone"`), or holds everybody's (`leak="all"`).

    Everybody sends their first `reports_per_user` events of the second half. `max_epsilon` limits the budget of both
    mechanisms. The other arguments are those of `entropie.assess`, whose `protect=` does the same beside an assessment.
    """
    options = {name: value for name, value in locals().items() if name not in _NO_OPTIONS}
    wanted = Wanted(wanted_error_value(error, "error"), reports_per_user, max_epsilon, leak=leak)
    return protect_request(Request.of(events, options), wanted)


def protect_request(request: Request, wanted: Wanted) -> Protection:
    """The same for a request: read, split, attack as it is, protect."""
    names = matchers_of(request.attackers)
    prepared, run = prepare(request), request.run
    foretell_matchers(names, prepared.split, run)
    release = Release.of(prepared.released, prepared.split, prepared.rule, attacked=prepared.attacked)
    before = as_it_is_of(rows_on(release, request)[0])
    return protect_split(prepared.traces, prepared.split, wanted, run, before)


def as_it_is_of(rows: Sequence[AttackerRow]) -> AsItIs:
    """What attackers in scope get of the events as they are: by earlier behaviour, and by known events."""
    found: list[ProtectionAttack] = []
    known = [row for row in judged(rows) if row.attacker == "points"]
    for some in ([row for row in judged(rows) if row.attacker != "points"], known):
        if some:
            best, share = strongest_row(some)
            name = best.matcher if best.attacker == "profile" else best.attacker
            found.append(figure(name or best.attacker, share.complement))
    return AsItIs(found[0], found[-1] if known else None)


def protect_split(
    traces: Traces, split: Split, wanted: Wanted, run: Run = _ANY_RUN, as_it_is: AsItIs | None = None
) -> Protection:
    """Calibrate, obfuscate and attack again: what protects these people to this error rate, and at what cost.

    Everybody sends the first events of their target. One attacker knows the mechanism and the training events, another
    the mechanism and events that are sent. `as_it_is` are attacks on the plain events, shown in a row of their own.
    """
    senders = Senders.of(split, wanted.reports_per_user)
    # The price of these matchers stands for that of all: 25 s for 80,000 people, of whom each sends one, took 18 to 30.
    foretell_matchers(_PLAIN_MATCHERS, Split(senders.train, senders.sent, split.users, split.dropped_users), run)
    run.progress("protecting: calibration", 0.0)
    response = best_response(senders, wanted.error, wanted.max_epsilon, wanted.leak)
    limit = response.epsilon if wanted.max_epsilon is None else wanted.max_epsilon
    hashing = best_hashing(senders, wanted.error, limit, wanted.leak)
    run.progress("protecting: pseudonyms", 0.3)
    plain = _strongest_plain(senders, run)
    known = _known_plain(senders, run) if wanted.tries_known_events else None
    kept = traces if not split.dropped_users else traces.take(split.users)
    goal = replace(_goal(kept, senders, wanted, [plain, known]), not_run=wanted.not_run)
    before = None if as_it_is is None else as_it_is.earlier.identification_error
    attacked, error = split.target.events, plain.identification_error
    goal = told(goal, senders, error, before, attacked)
    exact, rows = exact_utility(senders), []
    if as_it_is is not None and before is not None:
        row = _row("as it is", senders, as_it_is.earlier, exact_utility(senders, everything=True))
        row = replace(row, sends="every event", events_sent=attacked, known_events=as_it_is.known_events)
        rows.append(replace(row, sentence=f"{untouched_sentence(before)}{knowing_sentence(row.known_events)}"))
    row = replace(_row("pseudonyms alone", senders, plain, exact, _pseudonyms_guarantee(senders)), known_events=known)
    rows.append(
        replace(row, sentence=pseudonyms_sentence(senders, error, goal, exact.top_20) + knowing_sentence(known))
    )
    run.progress("protecting: randomized response", 0.5)
    rows.append(_noisy_row("randomized response", response, senders, wanted, run))
    run.progress("protecting: local hashing", 0.75)
    rows.append(_noisy_row("local hashing", hashing, senders, wanted, run))
    tried: dict[str, Noisy] = {"randomized response": response, "local hashing": hashing}

    def needed(row: ProtectionRow) -> int | None:
        return people_needed(tried[row.name], senders, wanted, row.utility.top_20.relative_error)

    return Protection.of(goal, tuple(rows), frontier(senders, wanted, rows, run), senders.users, needed)


def single_datum_error(traces: Traces) -> float:
    """The least error of telling whose event this is, drawn from a person's history, knowing everybody's habits.

    Exact for these data: 1 - sum over x of max over i of pi_i(x) / n.
    """
    active = np.flatnonzero(np.diff(traces.offsets) > 0)
    counts = item_rows(traces.take(active))
    shares = counts.weights / np.repeat(counts.totals(), np.diff(counts.offsets))
    largest = np.zeros(traces.domain_size)
    np.maximum.at(largest, counts.features, shares)
    return 1.0 - float(largest.sum()) / active.size


def _strongest_plain(senders: Senders, run: Run) -> ProtectionAttack:
    """The best of several matchers on the plain events, with an interval that allows for the choice."""
    sent = Traces(senders.sent.offsets, senders.sent.items, senders.domain_size)  # without times, which are not sent
    train = Traces(senders.train.offsets, senders.train.items, senders.domain_size)
    outcomes = {name: attack(matcher(name)(train, sent), threads=run.threads) for name in _PLAIN_MATCHERS}
    name = max(outcomes, key=lambda tried: float(outcomes[tried].credit.mean()))
    measures = measure_outcome(outcomes[name], users=senders.users, seed=run.seed, replicates=run.replicates)
    credit = outcomes[name].credit
    error = share_interval(float(credit.mean()), credit.size, level_among(len(outcomes))).complement
    return figure(name, error, measures.pse_bits)


def _known_plain(senders: Senders, run: Run) -> ProtectionAttack:
    """The attacker who knows up to four random events of what is sent without noise and without times."""
    sent = Traces(senders.sent.offsets, senders.sent.items, senders.domain_size)
    credit = PointAttack.of(sent, JUDGED_POINTS, run).outcome(JUDGED_POINTS, "none").credit
    return figure("points", identification_error(credit))


def _goal(traces: Traces, senders: Senders, asked: Wanted, plain: Sequence[ProtectionAttack | None]) -> ProtectionGoal:
    """Compare what pseudonyms alone give with the goal: guaranteed, exact for these data, or only measured.

    Of the attacks on pseudonyms the stronger counts; whoever holds everybody's data can do more than these attacks.
    """
    users, t, wanted = senders.users, senders.reports_per_user, asked.error
    pie = pie_bits(traces)
    from_pie = fano.bayes_error(min(t * pie, math.log2(users)), users)
    known_all = single_datum_error(traces) if t == 1 else None
    guarantee = _pseudonyms_guarantee(senders)
    of_any_data = 0.0 if guarantee is None else guarantee.bayes_error
    errors = [one.identification_error for one in plain if one is not None]
    measured, attacked = min(error.low for error in errors), min(error.value for error in errors)
    goal = ProtectionGoal(wanted, pie, from_pie, known_all, of_any_data, measured, None, True, "", "", "")
    basis: Literal["all data", "these data", "measured", None] = None
    if of_any_data >= wanted:
        basis = "all data"
    elif asked.leak == "all":
        pass
    elif max(from_pie, known_all or 0.0) >= wanted and not goal.bound_is_beaten(attacked):
        # The first event may say more than one drawn at random: then the attack counts.
        basis = "these data"
    elif measured >= wanted:
        basis = "measured"
    return replace(goal, basis=basis, noise_needed=basis is None)


def _row(
    name: Name, senders: Senders, figure: ProtectionAttack, utility: Utility, given: ProtectionGuarantee | None = None
) -> ProtectionRow:
    """What people send, and what an attack gets of it; without noise, and without a sentence yet."""
    t, sent = senders.reports_per_user, senders.reports
    return ProtectionRow(name, None, t, sends(t), sent, given, figure, utility, False, "")


def _pseudonyms_guarantee(senders: Senders) -> ProtectionGuarantee | None:
    """What few items guarantee by themselves; None where there are at least as many as people."""
    if senders.domain_size >= senders.users:
        return None
    given = guarantee_part(Identity(senders.domain_size), senders)
    return given if given.bayes_error > 1e-9 else None


def _noisy_row(name: Name, mechanism: Noisy, senders: Senders, wanted: Wanted, run: Run) -> ProtectionRow:
    utility, reports = measure_utility(mechanism, senders, seed=run.seed, repetitions=wanted.repetitions)
    outcome = attack_on(mechanism, senders, reports, threads=run.threads)
    measures = measure_outcome(outcome, users=senders.users, seed=run.seed, replicates=run.replicates)
    attacked = figure(_MODELS, identification_error(outcome.credit), measures.pse_bits)
    row = _row(name, senders, attacked, utility, guarantee_part(mechanism, senders))
    row = replace(row, mechanism=mechanism_part(mechanism))
    if wanted.tries_known_events:
        credit = attack_knowing(mechanism, senders, reports, threads=run.threads).credit
        row = replace(row, known_events=figure(_MODELS, identification_error(credit)))
    return replace(row, sentence=noisy_sentence(row) + knowing_sentence(row.known_events))
