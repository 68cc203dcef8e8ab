"""Alerts: each speaks when it should, honest devices raise none, and nothing flaps."""

from __future__ import annotations

import http.server
import json
import math
import threading

import mpmath
import numpy as np
import pytest
from collector_made import drinks, fixed, places
from facts_made import facts_of, honest, honest_cells
from hypothesis import given
from hypothesis import strategies as st

from entropie.collector import alerts
from entropie.collector.alerts import Alert, Reading, changes, judge, log_lines, settled
from entropie.collector.document import Limits
from entropie.collector.facts import pool_deviation
from entropie.collector.regression import _DEPENDENCE, Attacked, Reached, _data, _named_together, _scores, attacked
from entropie.collector.store import Hour as StoreHour
from entropie.collector.suspicion import chi_square_tail, negative, uneven
from entropie.collector.webhook import SIGNATURE_HEADER, Webhook, signature, verified
from entropie.errors import InvalidParameter


def Hour(hour: int, accepted: int, duplicate: int = 0) -> StoreHour:
    return StoreHour(hour, accepted, duplicate, 0)


SECRET = b"sixteen bytes or more"


def kinds(found) -> set[str]:
    return {alert.kind for alert in found}


def said(found, kind: str) -> str:
    return next(alert.sentence for alert in found if alert.kind == kind).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize("collection", [drinks(), places()], ids=["rr", "glh"])
@pytest.mark.parametrize("reports", [0, 1, 37, 3000])
def test_honest_devices_raise_no_alert(collection, reports):
    hours = tuple(Hour(100 + i, reports // 10) for i in range(10))
    facts = honest(collection, reports, hours=hours, hour=110, free_bytes=10**11, disk_bytes=10**12)
    assert judge(facts) == ()


def test_a_guarantee_below_its_limit():
    strict = Limits("0.9", "0.5", None, "1")
    collection = drinks(people=1000, epsilon=1.0, limits=strict)
    weak = fixed(collection, mechanism=json.loads(drinks(epsilon=6.0).canonical)["mechanism"])
    found = judge(honest(weak, 1000))
    assert kinds(found) == {"guarantee", "guarantee-now"}
    assert "Certainty about one person is at most 99.4 %, the limit is 50 %." in said(found, "guarantee")
    assert said(found, "guarantee").endswith("So it is for the declared 1,000 people.")


def test_few_people_are_noted_while_it_is_open_and_critical_once_closed():
    collection = drinks(people=100_000, epsilon=1.0, limits=Limits("0.9", "0.5", None, "1"))
    open_, closed = (judge(honest(collection, 5, closed=closed)) for closed in (False, True))
    assert [(alert.kind, alert.level) for alert in open_] == [("guarantee-now", "note")]
    assert [(alert.kind, alert.level) for alert in closed] == [("guarantee-now", "critical")]
    assert said(open_, "guarantee-now").startswith("5 people have taken part. Against an attacker who knows who they")
    assert judge(honest(collection, 5000)) == ()


def test_more_reports_than_people_may_send():
    collection = fixed(drinks(people=100), reports_per_person="2")
    assert judge(honest(collection, 200)) == ()
    found = judge(honest(collection, 201))
    assert said(found, "too-many") == (
        "201 reports came from a declared 100 people with 2 reports each, at most 200 in all."
    )


def test_a_fixed_hash_function_is_noticed_and_uniform_ones_are_not():
    collection = places(pool=256)
    rng = np.random.default_rng(3)
    cells = honest_cells(collection, rng.integers(0, 100, 4000).astype(np.uint64), rng)
    assert judge(facts_of(collection, cells)) == ()
    cells[:120] = cells[:120] % 8  # 3 % of devices always take function 0
    found = judge(facts_of(collection, cells))
    assert kinds(found) == {"hash-functions"}
    assert said(found, "hash-functions").startswith("Hash functions are not drawn uniformly: honest devices would")


def test_half_of_the_pool_is_noticed():
    """No single function stands out here: chi-square over groups sees it."""
    collection = places(pool=1024)
    rng = np.random.default_rng(4)
    assert uneven(np.bincount(rng.integers(0, 1024, 5000), minlength=1024)) > 1e-3
    skewed = np.where(rng.random(5000) < 0.25, rng.integers(0, 512, 5000), rng.integers(0, 1024, 5000))
    facts = facts_of(collection, skewed.astype(np.uint64) * np.uint64(8))
    assert uneven(facts.functions) < alerts.FALSE_ALARMS


@pytest.mark.parametrize(("pool", "reports"), [(16, 400), (256, 3000), (256, 60), (1024, 1000)])
def test_false_alarms_on_hash_functions_are_as_rare_as_stated(pool, reports):
    """3,000 honest stores: a chance below 1 % in at most 1 % of them, and 4 standard errors."""
    rng, level, runs = np.random.default_rng(pool + reports), 0.01, 3000
    draws = rng.multinomial(reports, np.full(pool, 1 / pool), size=runs)
    alarms = np.mean([uneven(draw) < level for draw in draws])
    assert alarms <= level + 4 * math.sqrt(level / runs)


@pytest.mark.parametrize("collection", [drinks(items=20), places(pool=256)], ids=["rr", "glh"])
def test_false_alarms_on_negative_estimates_are_as_rare_as_stated(collection):
    level, runs, rng = 0.05, 200, np.random.default_rng(8)
    alarms = 0
    for _ in range(runs):
        cells = honest_cells(collection, np.zeros(300, np.uint64), rng)  # everybody has item 0, all others have none
        alarms += negative(facts_of(collection, cells), level)[0] < level
    assert alarms / runs <= level + 4 * math.sqrt(level / runs)


def test_reports_that_avoid_an_item_make_its_estimate_negative():
    collection = drinks(items=20)
    rng = np.random.default_rng(5)
    cells = honest_cells(collection, rng.integers(0, 20, 3000).astype(np.uint64), rng)
    assert judge(facts_of(collection, cells)) == ()
    cells[cells == 7] = 8
    found = judge(facts_of(collection, cells))
    assert kinds(found) == {"negative"}
    assert 'The estimate for "drink 7" is -' in said(found, "negative")


def test_the_pool_does_not_look_like_an_attack():
    """Everybody has one item and the pool is tiny: other items are moved by the pool alone, which is no forgery."""
    collection = places(pool=256, epsilon=8.0)
    rng = np.random.default_rng(6)
    facts = facts_of(collection, honest_cells(collection, np.zeros(20_000, np.uint64), rng))
    least = float(facts.estimates.probabilities.min())
    assert least < -3 * math.sqrt(collection.device.rates.l2(0.0, facts.total))  # noise alone would not do this
    assert abs(least) < 5 * pool_deviation(collection)
    assert "negative" not in kinds(judge(facts))


def test_supports_are_those_of_a_slow_count():
    collection = places(size=30, hash_size=4, pool=256)
    device = collection.device
    rng = np.random.default_rng(7)
    cells = rng.integers(0, collection.cells, 60).astype(np.uint64).repeat(rng.integers(1, 40, 60))
    from entropie.collector.pool import hash_function

    slow = np.zeros(30, int)
    for cell in cells.tolist():
        a, b = hash_function(collection.seed_bytes, cell // 4, device.prime)
        slow += [(a * x + b) % device.prime % 4 == cell % 4 for x in range(30)]
    np.testing.assert_array_equal(facts_of(collection, cells).supports, slow)


def test_replays_and_spikes():
    hours = (*(Hour(h, 100) for h in range(50)), Hour(50, 900, duplicate=300))
    found = judge(honest(drinks(), 100, hours=hours, hour=50))
    assert kinds(found) == {"volume"}  # 300 of 3,500 in 24 hours
    assert said(found, "volume") == (
        "900 reports came in one of the last 3 hours; half of the earlier hours had at most 100."
    )
    twice = judge(honest(drinks(), 100, hours=(Hour(50, 900, duplicate=300),), hour=50))
    assert said(twice, "duplicates") == "25 % of reports in the last 24 hours were sent before (300 of 1,200)."
    quiet = judge(honest(drinks(), 100, hours=(Hour(50, 900, duplicate=99),), hour=50))
    assert quiet == ()


def test_hours_that_a_wrong_clock_wrote_down_are_not_of_today():
    """Thirty years ahead and right again, or ahead as yet and set right."""
    replayed = Hour(50 + 30 * 365 * 24, 900, duplicate=300)
    assert judge(honest(drinks(), 100, hours=(*(Hour(h, 100) for h in range(51)), replayed), hour=50)) == ()
    assert kinds(judge(honest(drinks(), 100, hours=(replayed,), hour=replayed.hour))) == {"duplicates"}


def test_a_busy_first_hour_is_no_spike():
    assert judge(honest(drinks(), 100, hours=(Hour(50, 10**6),), hour=50)) == ()


def test_a_roll_back_stays_until_somebody_removes_it():
    short = honest(drinks(), 100, high_water=103, hour=5)
    first = judge(short)
    assert said(first, "store").startswith("The store was rolled back: 3 reports that the store has held are missing")
    caught_up = judge(honest(drinks(), 200, high_water=200, hour=6), first)
    assert [(a.kind, a.since, a.sentence) for a in caught_up] == [("store", "1970-01-01T05Z", first[0].sentence)]
    assert judge(honest(drinks(), 200, high_water=200, hour=6)) == ()
    damaged = judge(honest(drinks(), 200, problems=("The store X is damaged.",)))
    assert said(damaged, "store") == "The store X is damaged."


def test_disk():
    found = judge(honest(drinks(), 10, free_bytes=150 * 10**6, disk_bytes=10**12))
    assert said(found, "disk") == "150 MB of 1 TB are free where the store lies."
    assert judge(honest(drinks(), 10, free_bytes=10**10, disk_bytes=10**13)) == ()


@given(st.lists(st.integers(0, 3 * 10**9), min_size=1, max_size=40))
def test_a_disk_alert_changes_only_where_both_thresholds_are_crossed(free):
    """Between the alert's beginning and its end the value has gone from one side of the band to the other."""
    least, held = 500 * 10**6, ()
    side, expected = "inside", 0
    seen = 0
    for value in free:
        after = settled([alerts._disk(value, 10**10)], held, 1)
        seen += len(after) != len(held)
        new = "beyond" if value < least else "inside" if value > 2 * least else side
        expected += new != side
        side, held = new, after
        assert bool(held) == (side == "beyond")
    assert seen == expected


@given(st.lists(st.sampled_from(["beyond", "between", "inside"]), max_size=30))
def test_what_wavers_at_a_threshold_changes_nothing(path):
    held: tuple[Alert, ...] = ()
    for hour, where in enumerate(path):
        reading = Reading("disk", "warning", where == "beyond", where == "inside", f"At {where}.")
        after = settled([reading], held, hour)
        if where == "between":
            assert kinds(after) == kinds(held)
        if held and after:
            assert after[0].since == held[0].since
        held = after


def test_changes_are_told_once_and_on_one_line():
    names = [f"a{i}\n\x1b[31m<b>" for i in range(20)]
    collection = fixed(drinks(items=20), items=names)
    rng = np.random.default_rng(5)
    cells = honest_cells(collection, rng.integers(0, 20, 3000).astype(np.uint64), rng)
    cells[cells == 7] = 8
    facts = facts_of(collection, cells)
    now = judge(facts)
    told = changes(facts, (), now)
    assert told is not None
    (line,) = log_lines(told)
    assert line.startswith(f"alert raised kind=negative level=warning collection={collection.id[:12]}: The estimate")
    assert line.isprintable() or "\N{NO-BREAK SPACE}" in line
    assert "\n" not in line
    assert "\x1b" not in line
    assert changes(facts, now, now) is None
    over = changes(facts, now, ())
    assert over is not None
    assert log_lines(over)[0].startswith("alert over kind=negative")


@pytest.mark.parametrize("a", [1, 2, 15, 255, 4095])
def test_the_tail_of_chi_square(a):
    for x in (0.01, 0.5 * a, a, a + 5 * math.sqrt(2 * a), 3.0 * a + 50):
        wanted = float(mpmath.gammainc(a / 2, x / 2, mpmath.inf, regularized=True))
        assert chi_square_tail(x, a) == pytest.approx(wanted, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize(
    "collection",
    [
        drinks(),
        drinks(people=100, epsilon=4, items=500),
        places(),
        places(epsilon=5, hash_size=200, size=1000),
        fixed(drinks(people=1000, items=30, epsilon=3), reports_per_person="3"),
        fixed(drinks(people=1), people="1"),
    ],
    ids=["rr", "rr, large", "glh", "glh, large", "three reports", "one person"],
)
def test_the_simulated_attack_stays_within_the_guarantee(collection):
    result = attacked(collection, np.random.default_rng(1))
    assert min(result.alone.chance, result.all_reports.chance) > 1e-4
    assert judge(honest(collection, 1), attacked=result) == ()


def test_the_simulated_attack_notices_devices_that_tell_more_truth(monkeypatch):
    """Power: 10 % more truth than the document says, where the guarantee is exact."""
    collection = drinks(people=1000, epsilon=6.0, items=1000)
    weaker = drinks(people=1000, epsilon=6.0, items=1000)
    weaker.__dict__["device"] = weaker.device.with_theta(weaker.device.theta * 1.1)
    from entropie.collector import regression

    monkeypatch.setattr(regression, "_scores", lambda _, data, rng: _scores(weaker, data, rng))
    result = attacked(collection, np.random.default_rng(2), people=400, trials=40)
    found = judge(honest(collection, 1), attacked=result)
    assert "attack" in kinds(found)
    assert "A simulated attack with 400 people beat the guarantee: one report alone re-identified" in said(
        found, "attack"
    )


@pytest.mark.parametrize(("people", "reports", "size"), [(5, 1, 9), (9, 4, 9), (200, 3, 30), (50, 6, 2), (300, 2, 20)])
def test_the_data_attacked_differ_as_much_as_they_can(people, reports, size):
    data = _data(people, reports, size)
    assert data.shape == (people, reports)
    assert int(data.max()) < size
    assert len(np.unique(data, axis=0)) == min(people, size**reports)
    for column in data.T:
        assert len(np.unique(column)) == min(people, size)


def test_who_holds_all_reports_does_no_worse():
    """Over 4,000 names each, to 4 standard errors."""
    for collection in (drinks(), places(), fixed(drinks(people=1000, items=300, epsilon=3), reports_per_person="3")):
        found = attacked(collection, np.random.default_rng(1))
        share, entries = found.alone.share, found.people * found.trials
        assert found.all_reports.share > share - 4 * math.sqrt(share / entries)


def test_names_from_all_reports_vary_no_more_than_is_allowed_for():
    for collection in (drinks(), places(), drinks(people=100, epsilon=5, items=500)):
        rng, people = np.random.default_rng(2), 100
        data = _data(people, 1, collection.device.domain_size)
        named = [_named_together(_scores(collection, data, rng), rng) for _ in range(60)]
        share = np.mean(named) / people
        assert np.var(named) < _DEPENDENCE * people * share * (1 - share)


def test_an_attack_that_is_not_run_again_keeps_its_alert():
    bad = Attacked(10, 1, Reached(0.9, 0.1, 0.0), Reached(0.1, 0.1, 1.0))
    first = judge(honest(drinks(), 10), attacked=bad)
    assert kinds(first) == {"attack"}
    assert kinds(judge(honest(drinks(), 10), first)) == {"attack"}
    good = Attacked(10, 1, Reached(0.1, 0.1, 1.0), Reached(0.1, 0.1, 1.0))
    assert judge(honest(drinks(), 10), first, good) == ()


class Receiver(http.server.BaseHTTPRequestHandler):
    taken: list[tuple[bytes, str]]
    answer = 204

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.taken.append((body, self.headers[SIGNATURE_HEADER]))
        self.send_response(self.answer)
        if self.answer == 302:
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/other")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("answer", [204, 302, 500])
def test_a_webhook_is_signed(answer):
    handler = type("Handler", (Receiver,), {"taken": [], "answer": answer})
    with http.server.HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        facts = honest(drinks(), 10, free_bytes=0, disk_bytes=10**12)
        told = changes(facts, (), judge(facts))
        assert told is not None
        problem = Webhook(f"http://127.0.0.1:{server.server_port}/hook?a=1", SECRET).send(told, 1_000_000)
        server.shutdown()
        thread.join()
    assert (problem is None) == (answer == 204)
    ((body, header),) = handler.taken  # a redirect is not followed
    assert verified(SECRET, body, header, 1_000_100)
    assert not verified(SECRET, body, header, 1_000_500)
    assert not verified(SECRET + b"x", body, header, 1_000_000)
    assert not verified(SECRET, body + b" ", header, 1_000_000)
    assert not verified(SECRET, body, header.replace("t=1", "t=0"), 1_000_000)
    sent = json.loads(body)
    assert (sent["schema"], sent["reports"], [one["kind"] for one in sent["raised"]]) == (
        "entropie.alerts",
        10,
        ["disk"],
    )


def test_a_webhook_that_nobody_answers():
    facts = honest(drinks(), 10, free_bytes=0, disk_bytes=10**12)
    told = changes(facts, (), judge(facts))
    assert told is not None
    problem = Webhook("http://127.0.0.1:9/", SECRET).send(told, 1)
    assert problem == "The webhook's receiver cannot be reached; the alert is on the dashboard and in the log."


@pytest.mark.parametrize(
    "url", ["http://example.org/", "ftp://127.0.0.1/", "https:///x", "https://a:b@example.org/", "example.org"]
)
def test_a_webhook_goes_nowhere_unsafe(url):
    with pytest.raises(InvalidParameter):
        Webhook(url, SECRET)


def test_a_short_secret_is_refused():
    with pytest.raises(InvalidParameter, match="at least 16 bytes"):
        Webhook("https://example.org/", b"short")


def test_a_signature_is_the_published_form():
    import hashlib
    import hmac

    wanted = hmac.new(b"k" * 16, b"5.{}", hashlib.sha256).hexdigest()
    assert signature(b"k" * 16, b"{}", 5) == f"t=5,v1={wanted}"
