"""The charts show the document's numbers, and their drawings are harmless wherever they are put."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from statistics import NormalDist
from xml.etree import ElementTree

import pytest
import report_documents as documents

from entropie import drawing
from entropie.document import typed
from entropie.errors import InvalidInput, InvalidParameter
from entropie.page import charts, protection_charts
from entropie.page.specs import NARROW, WIDE

NORMAL = NormalDist()
ALL = (
    "gauge",
    "attacker_rows",
    "items",
    "exposure",
    "windows",
    "frontier",
    "ranks",
    "scores",
    "det",
    "bits",
    "guarantee",
)


def rows(spec, kind, place=0):
    """The numbers of the n-th mark of that kind."""
    found = []
    for layer in spec["layer"]:
        mark = layer["mark"] if isinstance(layer["mark"], str) else layer["mark"]["type"]
        if mark == kind:
            found.append(layer["data"]["values"])
    return found[place]


@pytest.fixture(scope="module")
def document():
    return documents.full()


@pytest.fixture(scope="module")
def best(document):
    return document["attacks"][document["strongest"]]


def drawn(name, document, width=WIDE):
    home = protection_charts if name in ("frontier", "guarantee") else charts
    return getattr(home, name)(typed(document), width)


def references(spec):
    """Where lines for reference stand, by their names."""
    return {
        layer["data"]["values"][0]["text"].replace("\N{NO-BREAK SPACE}", " "): layer["data"]["values"][0]["value"]
        for layer in spec["layer"]
        if isinstance(layer["mark"], dict) and layer["mark"]["type"] == "text"
    }


def test_gauge(document):
    (spec,) = drawn("gauge", document)
    error = document["headline"]["identification_error"]
    judged, average = rows(spec, "point")
    assert judged == {"what": "most exposed 31\N{NO-BREAK SPACE}%", **document["verdict"]["judged_risk"]}
    assert (average["value"], average["low"], average["high"]) == (
        1 - error["value"], 1 - error["high"], 1 - error["low"],
    )  # fmt: skip
    assert references(spec) == {"limit 9 %": 0.09, "chance 1.7 %": 1 - document["guessing_error"]}


def test_limit_and_chance_are_lines_and_no_rows(document):
    for name in ("gauge", "attacker_rows"):
        (spec,) = drawn(name, document)
        assert set(references(spec)) == {"limit 9 %", "chance 1.7 %"}
        assert not {"limit", "chance", "control"} & {row["what"] for row in rows(spec, "point")}
    (spec,) = drawn("gauge", documents.plain())
    assert list(references(spec)) == ["chance 1.7 %"]


def test_attackers(document):
    (spec,) = drawn("attacker_rows", document)
    known = [row for row in document["by_known_events"] if row["train_events"]]
    points = rows(spec, "point")
    assert [row["value"] for row in points[4:]] == [1 - row["identification_error"]["value"] for row in reversed(known)]
    names = [row["what"] for row in points[:4]]
    assert names == ["4 known events", "earlier behaviour", "... against all traces", "... matched one-to-one"]
    best = max(row["reidentified"]["value"] for row in document["attackers"] if row["attacker"] == "profile")
    assert points[1]["value"] == best


def test_items(document):
    (spec,) = drawn("items", document)
    found = document["identifying_items"]
    wanted = [found["rare"]["bits"], math.fsum(item["bits"] for item in found["shown"]), found["other"]["bits"]]
    assert [row["bits"] for row in rows(spec, "bar")] == wanted
    assert math.fsum(wanted) == pytest.approx(document["pie_bits"])


def test_scores(document, best):
    for spec, side in zip(drawn("scores", document), ("genuine", "impostor"), strict=True):
        bars = rows(spec, "bar")
        assert [bar["share"] for bar in bars] == best["laws"][side]
        assert [bar["from"] for bar in bars] + [bars[-1]["to"]] == best["laws"]["edges"]


def test_det_axes_are_normal_deviates(document, best):
    (spec,) = drawn("det", document)
    line = next(layer["data"]["values"] for layer in spec["layer"] if "order" in layer["encoding"])
    assert len(line) == len(best["det"])
    inside = [
        (row, point)
        for row, point in zip(line, best["det"], strict=True)
        if 1e-3 < point[0] < 0.9 and 1e-3 < point[1] < 0.9
    ]
    assert len(inside) > 5
    for row, (far, frr) in inside:
        assert NORMAL.cdf(row["x"]) == pytest.approx(far, rel=1e-9)
        assert NORMAL.cdf(row["y"]) == pytest.approx(frr, rel=1e-9)


def test_det_band(document, best):
    (spec,) = drawn("det", document)
    band = rows(spec, "area")
    middle = next(i for i, point in enumerate(best["det"]) if 0.05 < point[1] < 0.9 and best["det_band"][i][0] > 0.02)
    assert NORMAL.cdf(band[middle]["low"]) == pytest.approx(best["det_band"][middle][0])
    assert NORMAL.cdf(band[middle]["high"]) == pytest.approx(best["det_band"][middle][1])


def test_reference_lines_are_two_normal_laws(document):
    """On each line, a threshold between N(0,1) and N(d,1) with the stated equal-error rate gives the drawn point."""
    (spec,) = drawn("det", document)
    lines = [layer["data"]["values"] for layer in spec["layer"] if "strokeDash" in layer["mark"]]
    for rate, ends in zip((0.05, 0.1, 0.2), lines, strict=True):
        separation = 2.0 * NORMAL.inv_cdf(1.0 - rate)
        for end in ends:
            threshold = NORMAL.inv_cdf(1.0 - NORMAL.cdf(end["x"]))
            assert NORMAL.cdf(threshold - separation) == pytest.approx(NORMAL.cdf(end["y"]), rel=1e-6)


def test_ranks_exposure_windows(document, best):
    (spec,) = drawn("ranks", document)
    assert [[row["k"], row["share"]] for row in rows(spec, "line", 1)] == best["rank_curve"]
    assert [row["share"] for row in rows(spec, "point")] == [1 - entry["error"] for entry in best["top_k"]]
    (spec,) = drawn("exposure", document)
    assert [row["value"] for row in rows(spec, "bar")] == [
        group["right"]["value"] for group in best["exposure"]["groups"]
    ]
    (spec,) = drawn("windows", document)
    attacked = [window for window in document["windows"] if window["identification_error"]]
    assert len(attacked) == 2
    assert [row["value"] for row in rows(spec, "point")] == [
        1 - window["identification_error"]["value"] for window in attacked
    ]


def test_windows_leave_gaps_and_places_of_their_own(document):
    changed = documents.full()
    window = changed["windows"][0]
    missing = window | {"identification_error": None, "pse_bits": None, "reason": "too few"}
    changed["windows"] = [
        {**each, "from": f"2023-11-15T{hour}:00Z"}
        for each, hour in zip((window, window, missing, window), ("00", "06", "12", "18"), strict=True)
    ]
    (spec,) = drawn("windows", changed)
    assert [(row["from"], row["run"]) for row in rows(spec, "point")] == [
        ("2023-11-15 00:00", 0), ("2023-11-15 06:00", 0), ("2023-11-15 18:00", 1)
    ]  # fmt: skip
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == [
        f"2023-11-15 {hour}:00" for hour in ("00", "06", "12", "18")
    ]
    for each in changed["windows"]:
        each |= missing
    assert drawn("windows", changed, NARROW) == []


def test_frontier_and_guarantee(document):
    changed = documents.full()
    for place, point in enumerate(changed["frontier"]):
        point["recommended"] = place == 3
    for name, field in (("frontier", "loss"), ("guarantee", "value")):
        (spec,) = drawn(name, changed)
        points = rows(spec, "point")
        assert [point["guaranteed"] for point in points] == [entry["bayes_error"] for entry in changed["frontier"]]
        values = [
            entry["relative_error_top_20"] if field == "loss" else entry["attack_error"]["value"]
            for entry in changed["frontier"]
        ]
        assert [point[field] for point in points] == values
        assert [p["guaranteed"] for p in rows(spec, "point", 1)] == [changed["frontier"][3]["bayes_error"]]


def test_bits_beyond_the_limit_are_drawn_at_the_limit(document, best):
    (spec,) = drawn("bits", document)
    assert rows(spec, "point")[0]["bits"] == best["pse_bits"]["value"]
    assert {row["what"]: row["bits"] for row in rows(spec, "point", 2)} == {
        "Face": 11.2,
        "Fingerprint": 20.0,
        "Finger vein": 23.2,
    }
    assert references(spec) == {"singles out one of these people": document["name_bits"]}
    changed = documents.full()
    changed["attacks"][changed["strongest"]]["pse_bits"] |= {"value": 40.0, "resolvable": 9.0}
    (spec,) = drawn("bits", changed)
    assert rows(spec, "point")[0]["bits"] == 9.0
    assert rows(spec, "point")[0]["what"] not in [row.get("what") for row in rows(spec, "rule")]


def test_nothing_to_draw_is_no_chart():
    assert [name for name in ALL if not drawn(name, documents.plain())] == ["windows", "frontier", "guarantee"]


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("name", ALL)
def test_every_picture_can_be_drawn_and_fits(name, width, document):
    for spec in drawn(name, document, width):
        root = ElementTree.fromstring(drawing.svg(spec, width))
        assert float(root.attrib["width"]) == pytest.approx(width, abs=8)
        assert re.fullmatch(r"0 0 [\d.]+ [\d.]+", root.attrib["viewBox"])
        assert "NaN" not in ElementTree.tostring(root, encoding="unicode")
        assert "undefined" not in ElementTree.tostring(root, encoding="unicode")
        sizes = {float(size[:-2]) for element in root.iter() if (size := element.attrib.get("font-size"))}
        assert min(sizes) >= 12.0


SPEC = {
    "description": 'says "<b>"',
    "height": 90,
    "data": {"values": [{"x": "</text><script>alert(1)</script>", "y": 1}, {"x": "javascript:alert(2)", "y": 2}]},
    "mark": {"type": "bar", "clip": True},
    "encoding": {
        "x": {"field": "x", "type": "nominal"},
        "y": {"field": "y", "type": "quantitative"},
        "tooltip": {"field": "x"},
    },
}


def test_an_svg_holds_shapes_and_escaped_text_alone():
    made = drawing.svg(SPEC | {"encoding": SPEC["encoding"] | {"href": {"value": "http://127.0.0.1:9/"}}}, 300)
    root = ElementTree.fromstring(made)
    assert root.attrib["aria-label"] == 'says "<b>"'
    for element in root.iter():
        assert element.tag.split("}")[1] in {"svg", "g", "path", "line", "rect", "text", "tspan", "defs", "clipPath"}
        assert not [name for name in element.attrib if name.startswith("on") or "href" in name]
    assert "<script" not in made
    assert any("script" in (element.text or "") for element in root.iter())


def test_the_same_picture_is_the_same_text():
    """The library counts its ids on; drawn twice without remembering, the text is the same all the same."""
    assert drawing.svg(SPEC, 300) == drawing.svg(SPEC | {"usermeta": 1}, 300).replace(
        re.search(r'id="(\w+)-', drawing.svg(SPEC | {"usermeta": 1}, 300)).group(1),
        re.search(r'id="(\w+)-', drawing.svg(SPEC, 300)).group(1),
    )


def test_ids_of_two_drawings_never_clash():
    first, second = drawing.svg(SPEC, 300), drawing.svg(SPEC, 301)
    ids = [set(re.findall(r'id="([^"]+)"', made)) for made in (first, second)]
    assert ids[0]
    assert ids[1]
    assert not ids[0] & ids[1]
    for made, own in zip((first, second), ids, strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", made)) <= own


def test_nothing_is_fetched():
    with pytest.raises(InvalidInput, match=r"The chart cannot be drawn: .*not allowed"):
        drawing.svg({**SPEC, "data": {"url": "http://127.0.0.1:9/x.json"}}, 300)


def test_png_has_the_asked_size():
    made = drawing.png(SPEC, 300, scale=2.0)
    assert made[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(made[16:20], "big") == pytest.approx(600, abs=20)


def test_bad_sizes_are_refused():
    with pytest.raises(InvalidParameter, match="Parameter `width` must be between 50 and 10000 pixels, got 3 instead"):
        drawing.svg(SPEC, 3)
    with pytest.raises(InvalidParameter, match="Parameter `scale`"):
        drawing.png(SPEC, 300, scale=0.0)


def test_without_the_extra_one_sentence_says_how_to_get_it():
    program = (
        "import sys; sys.modules['vl_convert'] = None\n"
        "from entropie import drawing\n"
        "assert not drawing.available()\n"
        "drawing.svg({}, 300)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert "InvalidInput: Charts cannot be drawn here; for these run: pip install 'entropie[report]'" in done.stderr


def contrast(first: str, second: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return math.fsum(weight * p for weight, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colour", [*drawing.PALETTE, drawing.INK, drawing.GREY])
def test_colours_can_be_read_on_white(colour):
    assert contrast(colour, "#ffffff") >= 4.5
