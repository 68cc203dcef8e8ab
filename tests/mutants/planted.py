"""The planted errors: which text becomes which, and the tests that must notice."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MUTANTS", "Mutant"]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One error: `text`, which stands once in the file, becomes `instead`; one of the tests must fail."""

    file: str
    text: str
    instead: str
    tests: tuple[str, ...]
    jit: bool = True  # False: kernels as plain Python


def _in(folder: str, file: str, text: str, instead: str, *tests: str, jit: bool = True) -> Mutant:
    """An error in a file of a package, whose tests are in the folder of the same name unless they say where."""
    places = tuple(test if "/" in test else f"tests/{folder}/{test}" for test in tests)
    return Mutant(f"src/entropie/{folder}/{file}.py", text, instead, places, jit)


_DENSE = "tests/attack/test_attack_scoring.py::test_against_the_dense_matrix"
_PIECES = "tests/attack/test_attack_scoring.py::test_pieces_threads_heads_and_order_change_nothing"

_TOGETHER = "tests/attack/test_profile_conjunctions.py"
_BESIDE = f"{_TOGETHER}::test_others_of_the_day_stand_beside_an_event"
_RATIOS = f"{_TOGETHER}::test_likelihood_ratios_are_those_of_the_formula"

_THEORY = (
    _in("theory", "fano", "start = list_size * (1.0", "start = (1.0", "test_theory_fano.py"),
    _in(
        "theory",
        "paper",
        "1.0 - (information_bits + 1.0) / bits",
        "1.0 - information_bits / bits",
        "test_theory_paper.py",
    ),
    _in(
        "theory",
        "randomized_response",
        "psi(lift) - inputs * psi(lift / inputs)",
        "psi(lift) - psi(lift / inputs)",
        "test_theory_randomized_response.py",
    ),
    _in("theory", "randomized_response", "tanh(epsilon / 2.0)", "tanh(epsilon)", "test_theory_contraction.py"),
    _in(
        "theory",
        "local_hashing",
        "(1.0 - collision) * psi_gap_over(hash_size, m, epsilon)",
        "psi_gap_over(hash_size, m, epsilon)",
        "test_theory_local_hashing.py",
    ),
    _in(
        "theory",
        "composition",
        "min(reports * single, cap, revealed)",
        "min(reports * single, cap)",
        "test_theory_composition.py",
    ),
    _in("theory", "loss", "nu=lie / hash_size + theta * collision", "nu=lie / hash_size", "test_theory_loss.py"),
    _in("theory", "loss", "1.0 - 1e-12) / domain_size", "1.0 - 1e-12)", "test_theory_loss.py"),
    _in(
        "theory", "worst_case", "log1p(theta * (answers - 1.0))", "log1p(theta * answers)", "test_theory_worst_case.py"
    ),
    _in("theory", "special", "if abs(a) < 0.03:", "if abs(a) < 0.9:", "test_theory_special.py"),
)
_MECHANISMS = (
    _in(
        "mechanisms",
        "probability",
        "return math.nextafter(nearest, 0.0) if Decimal(nearest) > budget else nearest",
        "return nearest",
        "test_mechanisms_theta.py",
    ),
    _in(
        "mechanisms",
        "probability",
        "math.floor(Fraction(checks.theta_value(theta)) * ONE)",
        "math.ceil(Fraction(checks.theta_value(theta)) * ONE)",
        "test_mechanisms_theta.py",
    ),
    _in(
        "mechanisms",
        "probability",
        "words < np.uint64(numerator)",
        "words <= np.uint64(numerator)",
        "test_mechanisms_theta.py",
    ),
    _in(
        "mechanisms",
        "hashing",
        "self.prime + rest - self.hash_size",
        "self.prime - self.hash_size",
        "test_mechanisms_hash_family.py",
    ),
    _in(
        "mechanisms", "randomized_response", "secrets.randbits(64)", "secrets.randbits(63)", "test_mechanisms_device.py"
    ),
    _in(
        "mechanisms", "randomness", "drawn >= np.uint64(bound)", "drawn > np.uint64(bound)", "test_mechanisms_device.py"
    ),
)
_MEASURES = (
    _in(
        "measures",
        "intervals",
        "centre = share + z * z / (2.0 * trials)",
        "centre = share",
        "test_measures_identification.py",
    ),
    _in("measures", "identification", "(k - low + 1) / (high", "(k - low) / (high", "test_measures_identification.py"),
    _in("measures", "best", "return 1.0 - (1.0 - level) / max(1.0, tried)", "return level", "test_measures_best.py"),
    _in("measures", "exposure", "np.unique(-gaps,", "np.unique(gaps,", "test_measures_exposure.py"),
    _in(
        "measures",
        "cells",
        "digamma(self.impostors.sum() + 1)",
        "digamma(self.impostors.sum() + 9)",
        "test_measures_cells.py",
    ),
    _in("measures", "law", "kept = weights > 0", "kept = weights >= 0", "test_measures_law.py"),
    _in(
        "measures",
        "resampling",
        "counts.impostors.sum(axis=0) / 2.0",
        "counts.impostors.sum(axis=0)",
        "test_measures_resampling.py",
    ),
    _in("measures", "det", "np.argmax(curve.far <= rate)", "np.argmax(curve.far < rate)", "test_measures_det.py"),
)
_KERNELS = (
    _in("kernels", "scoring", "left += user != own", "left += 1", _DENSE, jit=False),
    _in("kernels", "scoring", "over = genuine + tolerance + 1", "over = genuine", _DENSE, jit=False),
    _in(
        "kernels",
        "attack_base",
        "down |= parts[place] < 0",
        "down |= parts[place] < -(2**60)",
        "tests/attack/test_attack_scoring.py::test_more_users_than_are_kept_at_hand",
        jit=False,
    ),
    _in("kernels", "attack_law", "state[1] += up", "state[1] = up", _PIECES, jit=False),
    _in(
        "kernels",
        "attack_single",
        "starts[feature + 1] - starts[feature] - (asked[holders[place]] == feature)",
        "starts[feature + 1] - starts[feature]",
        "tests/attack/test_attack_single.py",
        jit=False,
    ),
    _in(
        "kernels",
        "attack_hash",
        "if items_of[user] > 1:",
        "if items_of[user] > 2:",
        "tests/attack/test_attack_mechanism.py",
        jit=False,
    ),
    _in(
        "kernels",
        "modular",
        "quotient + _U1 if y < prime",
        "quotient if y < prime",
        "test_kernels_without_jit.py",
        jit=False,
    ),
    _in(
        "kernels",
        "traces",
        "keys[hole - 1] > key",
        "keys[hole - 1] >= key",
        "tests/data/test_data_kernels.py",
        jit=False,
    ),
)
_ATTACK = (
    _in(
        "attack",
        "scoring",
        "partial.genuine >= scores[:, 0] - units.tolerance",
        "partial.genuine > scores[:, 0]",
        _DENSE,
    ),
    _in(
        "attack",
        "partial",
        "np.lexsort((people, ~scores), axis=1)",
        "np.lexsort((people, scores), axis=1)",
        "test_attack_partial.py",
    ),
    _in("attack", "index", "min(_LARGEST_EXPONENT, 61 -", "min(_LARGEST_EXPONENT, 64 -", "test_attack_index.py"),
)
_CONJUNCTIONS = (
    _in(
        "attack/profile",
        "conjunctions",
        "(others[0] + backed * anywhere[which])",
        "(others[0] + backed)",
        _TOGETHER + "::test_shares_are_those_of_the_others",
    ),
    _in(
        "attack/profile",
        "conjunctions",
        "np.maximum(each[which] - mine, 0.0)",
        "each[which]",
        _TOGETHER + "::test_shares_are_those_of_the_others",
    ),
    _in(
        "attack/profile",
        "conjunctions",
        "np.bincount(context, each) / cells.width",
        "np.bincount(context, each)",
        _TOGETHER + "::test_shares_are_of_events_where_each_has_several_outcomes",
    ),
    _in(
        "attack/profile",
        "conjunctions",
        "return odd * MOST_CHANCE + (1.0 - odd) * seldom,",
        "return np.full(users, seldom),",
        _TOGETHER + "::test_how_many_have_outcomes_of_their_own_is_told",
    ),
    _in(
        "attack/profile",
        "conjunctions",
        "        scores - usual,\n        others - usual,",
        "        scores,\n        others,",
        _TOGETHER + "::test_what_speaks_loudly_of_wrong_people_is_turned_down",
    ),
    _in(
        "attack/profile",
        "conjunctions",
        "_taken(known, some), some, chance, 1)",
        "_taken(known, some), some - 1, chance, 1)",
        _TOGETHER,
    ),
    _in("attack/profile", "conjunctions", "for kind in order[: 2 * ALONE])", "for kind in order[:0])", _TOGETHER),
    _in("attack/profile", "conjunctions", "NOBODY, order[kind.people])", "NOBODY, kind.people)", _TOGETHER),
    _in("attack/profile", "parts", "spans >= SPANS[name]", "spans >= 0", _TOGETHER + "::test_dates_are_no_habits"),
    _in("attack/profile", "parts", " | (other == traces.items)", "", _BESIDE),
    _in("attack/profile", "parts", "np.where(cut[which], -1, number)", "number", _BESIDE),
    _in(
        "attack/profile",
        "rows",
        "alone = tuple(loudest_naming(one, owners, users) for one in found.alone)",
        "alone = ()",
        _TOGETHER,
    ),
    _in("attack/profile", "rows", "<= MOST_EVENTS:", "<= 10**12:", "tests/attack/test_attackers.py"),
    _in("gate", "limits", "document.events > MOST_EVENTS)", "False)", "test_gate_limits.py"),
    _in("kernels", "conjunctions", "if person == but[row]:", "if False:", _RATIOS, jit=False),
    _in("kernels", "conjunctions", "math.log(chances[row]) + odds[place]", "odds[place]", _RATIOS, jit=False),
    _in("kernels", "conjunctions", "facts[place, 5] + usual, facts", "usual, facts", _RATIOS, jit=False),
    _in(
        "kernels",
        "conjunctions",
        "scores[row, kept - 1]:\n                total = sums[person] + _missed(own, person, targets, row, absent, present)",
        "scores[row, kept - 1]:\n                total = sums[person]",
        _RATIOS,
        jit=False,
    ),
    _in(
        "kernels",
        "conjunctions",
        "counts[begin:end].sum() // width",
        "counts[begin:end].sum()",
        _TOGETHER + "::test_cells_are_counted",
        jit=False,
    ),
)
_GATE = (
    _in("gate", "groups", "if risk.high <= limit:", "if risk.value <= limit:", "test_gate_groups.py"),
    _in("gate", "groups", "if risk.low > limit and", "if risk.value > limit and", "test_gate_groups.py"),
    _in(
        "gate",
        "groups",
        "        if self.too_few:\n            return",
        "        if False:\n            return",
        "test_gate_groups.py",
    ),
    _in("gate", "groups", "level_among(len(found) * searched)", "level_among(1)", "test_gate_groups.py"),
    _in("gate", "groups", "if self.everybody or share_interval", "if share_interval", "test_gate_groups.py"),
    _in("gate", "groups", "above = risk.value > limit or (", "above = (", "test_gate_groups.py"),
    _in("gate", "groups", "if row.in_scope]", "]", "test_gate_groups.py"),
    _in(
        "gate",
        "groups",
        "return max(groups, key=rank)",
        "return max(groups, key=lambda group: group.risk.value)",
        "test_gate_groups.py",
    ),
    _in("gate", "case", 'return "PASS (limited)" if self.limits else "PASS"', 'return "PASS"', "test_gate_limits.py"),
    _in("gate", "case", "        if self.unsettled:\n", "        if False:\n", "test_gate_limits.py"),
    _in(
        "gate",
        "case",
        "rests_on=[*self.limits, *self.unsettled, *filter",
        "rests_on=[*self.unsettled, *filter",
        "test_gate_limits.py",
    ),
    _in(
        "gate",
        "case",
        "if chance is None or chance >= 1.0:",
        "if chance is None or chance <= 1.0:",
        "test_gate_limits.py",
    ),
    _in(
        "gate",
        "judge",
        'if decision == "PASS (limited)" and verdict["limits_accepted"]',
        'if decision == "PASS (limited)"',
        "test_gate_limits.py",
    ),
    _in("gate", "judge", "accepted=limits.accept_limited,", "", "test_gate_limits.py"),
    _in("gate", "limits", "if known and max(known) < POINTS:", "if known and max(known) < 1:", "test_gate_limits.py"),
    _in("gate", "limits", "if row.targets < row.people:", "if row.targets > row.people:", "test_gate_limits.py"),
    _in("gate", "limits", "if split.target_events is not None:", "if False:", "test_gate_limits.py"),
    _in("gate", "people", "if rows >= LEAST_PEOPLE:", "if rows > LEAST_PEOPLE:", "test_gate_limits.py"),
    _in(
        "gate",
        "people",
        "if total - covered > MOST_EXCLUDED * total:",
        "if total - covered >= total:",
        "test_gate_limits.py",
    ),
    _in(
        "gate",
        "people",
        "for row in judged_rows(document) if row.failed]",
        "for row in judged_rows(document) if False]",
        "test_gate_limits.py",
    ),
    _in(
        "gate",
        "people",
        "surely <= max(limit, row.reidentified.high)",
        "surely <= limit",
        "test_gate_limits.py",
    ),
    _in("gate", "people", "if people < LEAST_PEOPLE:", "if people < 2:", "test_gate_limits.py"),
    _in("measures", "exposure", "sizes = {LEAST_GROUP, *(", "sizes = {*(", "tests/gate/test_gate_groups.py"),
    _in(
        "measures", "lookalikes", "best[asked, :guesses] == owners", "best[:, :guesses] == owners", "test_lookalikes.py"
    ),
    _in("measures", "lookalikes", ".any(axis=1) & (asked >= 0)", ".any(axis=1)", "test_lookalikes.py"),
    Mutant(
        "src/entropie/job.py",
        "            if pinned is not None:\n",
        "            if False:\n",
        ("tests/test_request.py",),
    ),
    Mutant("src/entropie/job.py", '_JUDGED = {"seed", "replicates"}', "_JUDGED = set()", ("tests/test_request.py",)),
    _in("gate", "exposed_comparison", "level_among(len(pairs))", "level_among(1)", "test_gate_comparison.py"),
    _in("gate", "exposed_comparison", "and key not in gone", "", "test_gate_comparison.py"),
    _in("gate", "waiver", "if today > self.expires:", "if today >= self.expires:", "test_gate_judge.py"),
    _in("gate", "people", "or interval.low > limit", "or interval.value > limit", "test_gate_people.py"),
    _in(
        "gate",
        "difference",
        "below = math.hypot(max(0.0, new.value - new.low), max(0.0, old.high - old.value))",
        "below = math.hypot(max(0.0, new.value - new.low), max(0.0, old.value - old.low))",
        "test_gate_comparison.py",
    ),
)
_DATA = (
    _in(
        "data",
        "split",
        "return (np.diff(traces.offsets) + 1) // 2",
        "return np.diff(traces.offsets) // 2",
        "test_data_filter_split.py",
    ),
    _in("data", "split", "covered = before[0] - before[1]", "covered = before[0]", "test_split_date.py"),
    _in(
        "data",
        "filter",
        "np.diff(traces.offsets) >= min_events",
        "np.diff(traces.offsets) > min_events",
        "test_data_filter_split.py",
    ),
    _in("data", "rules", "if 0 < code <= len(_DIRTY):", "if 0 < code < len(_DIRTY):", "test_data_bad_input.py"),
    _in("data", "classify", "ratings < rules.min_rating", "ratings <= rules.min_rating", "test_classify.py"),
    _in("data", "rejects", "dirty > limit * rows", "dirty > 2 * limit * rows", "test_data_bad_input.py"),
)
_PLAN_AND_ENGINE = (
    _in("plan", "grid", "float(users.sum()) / (memory / 2)", "float(users.sum()) / (2 * memory)", "test_plan_grid.py"),
    _in(
        "engine",
        "local",
        "replace(self, targets=self.targets.take(by_owner), owners=owners[by_owner])",
        "self",
        "test_local.py",
    ),
    _in(
        "engine",
        "local",
        "bounds = [np.searchsorted(split.users, cut)",
        "bounds = [np.asarray(cut)",
        "test_local.py",
    ),
)

_COLLECTOR_AND_RELEASE = (
    _in("mechanisms", "ledger", ".reports < entry.reports", ".reports > entry.reports", "test_mechanisms_ledger.py"),
    _in("mechanisms", "ledger", "spent > budget.epsilon", "spent > 2.0 * budget.epsilon", "test_mechanisms_ledger.py"),
    _in("mechanisms", "ledger", 'return 2 if self.scope == "all" else 1', "return 1", "test_mechanisms_ledger.py"),
    _in(
        "mechanisms",
        "design",
        "min(allowed_epsilon(goal), goal.max_epsilon)",
        "goal.max_epsilon",
        "test_mechanisms_design.py",
    ),
    _in("mechanisms", "design", "if family.fits(goal.max_report_bits):", "if True:", "test_mechanisms_design.py"),
    _in("collector", "alerts", "(old is not None and not reading.inside)", "old is not None", "test_alerts.py"),
    _in("collector", "document", "and value < float(limit):", "and value > 1.0:", "test_collector_document.py"),
    _in(
        "collector", "merge", "if len(set(origins)) < len(origins):", "if not origins:", "tests/cli/test_cli_collect.py"
    ),
    _in("collector", "sqlite_store", "SET value = value + 1 WHERE", "SET value = value WHERE", "test_stores.py"),
    _in("release", "judging", "searched=self.searched)", "searched=1)", "test_release_sweep.py"),
    _in(
        "mitigate",
        "lattice",
        "fits = self.counts >= limit.smallest",
        "fits = self.counts > limit.smallest",
        "test_mitigate_lattice.py",
    ),
    _in("mitigate", "lattice", ">= limit.different", ">= limit.different - 1", "test_mitigate_lattice.py"),
    _in(
        "mitigate/kinds",
        "people",
        "[: max(1, round(share * blocks.people))]",
        "",
        "tests/mitigate/test_mitigate_changes.py",
    ),
    _in("kernels", "holders", "if seen[slot] != person:", "if True:", "tests/mitigate/test_mitigate_changes.py"),
    _in("kernels", "holders", "posted[place[which]] < person", "False", "tests/mitigate/test_mitigate_exposure.py"),
    _in("data", "spill", "if total and total + size > most:", "if total:", "test_data_stored.py"),
)

MUTANTS = (
    *_THEORY,
    *_MECHANISMS,
    *_MEASURES,
    *_KERNELS,
    *_ATTACK,
    *_CONJUNCTIONS,
    *_GATE,
    *_DATA,
    *_PLAN_AND_ENGINE,
    *_COLLECTOR_AND_RELEASE,
)
