"""Score sets of other matchers, biometric ones above all: read them, name what failed, make higher mean closer.

Three shapes are read:

- a matrix file (CSV, TSV, semicolons; .gz): the first row holds the references' subject ids, the first column the
  probes', equal ids are genuine comparisons;
- two lists, genuine scores and impostor scores, numbers separated by white space;
- a directory of NIST's Biometric Scores Set 1 (BSSR1): `users.xml` and `enrollees.xml` list signatures with a `name`
  and a `subject_id`; each user has a text file of that name with a header line, the number of scores and one score
  per enrollee, in the order of `enrollees.xml`. `sets/dos/li/users.xml` belongs to `sims/dos/li/V/...`.
"""

from __future__ import annotations

import csv
import io
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.data.budget import Budget
from entropie.data.dialect import guess_delimiter
from entropie.data.files import InputFile
from entropie.errors import InvalidInput, InvalidParameter, option, shown

FAILED_SCORE = -1.0
"""What BSSR1 writes where a comparison failed."""

LONGEST_LINE = 1 << 22
"""A line beyond this is no row of a matrix; without a limit a small archive of zeros would fill the memory."""
_LONGEST_WORD = 1000
_COPIES = 6  # of all scores, while failures are set apart and the scores turned

ScoreKind = Literal["similarity", "distance"]
FailedRule = Literal["refuse", "drop", "lowest", "keep"]


@dataclass(frozen=True, slots=True)
class ScoreMatrix:
    """Probes (rows) compared with references (columns); higher is closer, NaN where nothing was compared."""

    scores: NDArray[np.float64]
    probe_users: NDArray[np.int64]  # who the probe is from: 0..users-1
    reference_users: NDArray[np.int64]
    users: int
    failed: int = 0  # comparisons that failed, whatever was done with them

    def __post_init__(self) -> None:
        if self.scores.shape != (self.probe_users.size, self.reference_users.size):
            raise InvalidInput(
                f"A score matrix needs one row per probe and one column per reference, "
                f"{self.probe_users.size} x {self.reference_users.size}, got shape {self.scores.shape}."
            )
        for name, codes in (("probe_users", self.probe_users), ("reference_users", self.reference_users)):
            if codes.size and not 0 <= int(codes.min()) <= int(codes.max()) < self.users:
                raise InvalidInput(f"Array `{name}` must hold users 0 to {self.users - 1}.")


@dataclass(frozen=True, slots=True)
class ScoreLists:
    """Genuine and impostor scores without knowing whose they are; higher is closer."""

    genuine: NDArray[np.float64]
    impostor: NDArray[np.float64]
    failed: int = 0


def read_scores(
    *paths: str | os.PathLike[str],
    kind: ScoreKind = "similarity",
    failed: FailedRule = "refuse",
    failed_score: float = FAILED_SCORE,
    matcher: str | None = None,
    memory: int | None = None,
) -> ScoreMatrix | ScoreLists:
    """Read one matrix file, two lists (genuine, impostor) or one BSSR1 directory.

    A comparison failed where its score is `failed_score` or its cell is blank. `failed` says what then: "refuse"
    (an error that counts them), "drop" (as if never compared), "lowest" (a non-match: below every valid score) or
    "keep" (the number means what it says). `kind="distance"` turns the scores round. `matcher` names one of the
    score folders of a BSSR1 directory, such as "face/C". `memory` is what all of it may fill, in bytes.
    """
    if kind not in ("similarity", "distance"):
        raise InvalidParameter.of("kind", "similarity or distance", kind)
    if failed not in ("refuse", "drop", "lowest", "keep"):
        raise InvalidParameter.of("failed", "refuse, drop, lowest or keep", failed)
    places = [Path(path) for path in paths]
    for place in places:
        if not place.exists():
            raise InvalidInput(f"There is no file or directory {place}.")
    if len(places) == 2 and all(place.is_file() for place in places):
        budget = Budget("The set of scores", memory)
        genuine, impostor = (_read_list(place, budget) for place in places)
        both, count = _usable(np.concatenate((genuine, impostor)), kind, failed, failed_score)
        genuine, impostor = both[: genuine.size], both[genuine.size :]
        return ScoreLists(genuine[~np.isnan(genuine)], impostor[~np.isnan(impostor)], count)
    if len(places) != 1:
        raise InvalidInput(
            f"Give one matrix file, two list files (genuine, impostor) or one directory, got {len(places)} paths."
        )
    budget = Budget(str(places[0]), memory)
    if places[0].is_dir():
        scores, probes, references = _read_bssr1(places[0], matcher, budget)
    else:
        scores, probes, references = _read_matrix(places[0], budget)
    codes = {subject: code for code, subject in enumerate(dict.fromkeys((*references, *probes)))}
    usable, count = _usable(scores, kind, failed, failed_score)
    return ScoreMatrix(
        scores=usable,
        probe_users=np.array([codes[subject] for subject in probes], dtype=np.int64),
        reference_users=np.array([codes[subject] for subject in references], dtype=np.int64),
        users=len(codes),
        failed=count,
    )


def _usable(
    scores: NDArray[np.float64], kind: ScoreKind, failed: FailedRule, failed_score: float
) -> tuple[NDArray[np.float64], int]:
    """Scores turned so that higher is closer, failures treated as asked for, and how many there were."""
    blank = np.isnan(scores)
    failures = blank | (scores == failed_score)
    count = int(failures.sum())
    closer = -scores if kind == "distance" else scores.copy()
    if failed == "refuse" and count:
        raise InvalidInput(
            f"{count} of {scores.size} scores are {failed_score:g} or blank, which marks a failed comparison; "
            f"say {option('failed')} drop, lowest (a non-match) or keep (an ordinary score)."
        )
    if failed == "keep" and blank.any():
        raise InvalidInput(
            f"{int(blank.sum())} scores are blank and cannot be kept; say {option('failed')} drop or lowest."
        )
    if failed == "drop":
        closer[failures] = np.nan
    if failed == "lowest" and count < scores.size:
        valid = closer[~failures]
        spread = float(valid.max() - valid.min())
        closer[failures] = valid.min() - max(1.0, spread)
    return closer + 0.0, count


def _open_text(path: Path) -> IO[str]:
    """Open a text, packed or not, as every table is opened."""
    packing = InputFile(path).packing
    plain = pa.OSFile(os.fsencode(path))
    stream = plain if packing is None else pa.CompressedInputStream(plain, packing)
    return io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")


def _numbers(words: list[str], where: str) -> NDArray[np.float64]:
    """Parse numbers; blanks become NaN; anything else is an error that says where."""
    try:
        numbers = np.array([word if word.strip() else "nan" for word in words], dtype=np.float64)
    except ValueError as error:
        raise InvalidInput(f"{where} holds something that is not a number{shown(f' ({error})')}.") from None
    if np.isinf(numbers).any():
        raise InvalidInput(f"{where} holds an infinite score; write a finite number or leave it blank.")
    return numbers


def _read_list(path: Path, budget: Budget) -> NDArray[np.float64]:
    """All numbers of a file, however they are cut into lines."""
    parts, size = [], 0
    with _open_text(path) as handle:
        for number, words in _words(handle, path):
            parts.append(_numbers(words, f"Line {number} of {path.name}"))
            size += parts[-1].nbytes
            budget.keep(str(path), _COPIES * size)
    if not parts:
        raise InvalidInput(f"File {path.name} holds no scores; write one number per line.")
    return np.concatenate(parts)


def _words(handle: IO[str], path: Path) -> Iterator[tuple[int, list[str]]]:
    """Words between white space with the number of their line, a piece of a long line at a time; without comments."""
    number, held, comment, ended = 1, "", False, True
    for piece in _pieces(handle, path, LONGEST_LINE):
        comment = piece.startswith("#") if ended else comment
        ended = piece.endswith(("\n", "\r"))
        words = "" if comment else held + piece
        held = "" if not words or words[-1].isspace() else words.rsplit(None, 1)[-1]
        if len(held) > _LONGEST_WORD:
            raise InvalidInput(f"Line {number} of {path.name} holds something that is not a number.")
        if found := words[: len(words) - len(held)].split():
            yield number, found
        number += ended
    if held.split():
        yield number, held.split()


def _pieces(handle: IO[str], path: Path, size: int) -> Iterator[str]:
    """The lines of a file, or pieces of them where they are longer; a file that is not text or ends early is bad."""
    try:
        while piece := handle.readline(size):
            yield piece
    except (UnicodeDecodeError, OSError) as error:
        raise InvalidInput(
            f"File {path.name} cannot be read as UTF-8 text ({type(error).__name__}); is it whole, and a text?"
        ) from None


def _text_lines(handle: IO[str], path: Path) -> Iterator[str]:
    """The lines of a file; one endless line is bad input."""
    for line in _pieces(handle, path, LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise InvalidInput(f"File {path.name} has a line of more than {LONGEST_LINE} characters; not scores.")
        yield line


def _read_matrix(path: Path, budget: Budget) -> tuple[NDArray[np.float64], list[str], list[str]]:
    """Scores, probe ids, reference ids; every line that is not blank is a row."""
    probes: list[str] = []
    rows: list[NDArray[np.float64]] = []
    with _open_text(path) as handle:
        lines = _text_lines(handle, path)
        first = next(lines, "")
        delimiter = guess_delimiter([first], ",\t;|") or ","
        references = [word.strip() for word in _cells(first, delimiter, f"Line 1 of {path.name}")][1:]
        if not references:
            raise InvalidInput(f"File {path.name} must begin with a row of subject ids (the first cell is ignored).")
        size = 0
        for number, line in enumerate(lines, start=2):
            where = f"Line {number} of {path.name}"
            cells = _cells(line, delimiter, where)
            if not cells:
                continue
            if len(cells) != len(references) + 1:
                raise InvalidInput(f"{where} has {len(cells)} cells, but the first row has {len(references) + 1}.")
            probes.append(cells[0].strip())
            rows.append(_numbers(cells[1:], where))
            size += len(probes[-1]) + rows[-1].nbytes
            budget.keep(str(path), _COPIES * size)
    if not rows:
        raise InvalidInput(f"File {path.name} holds no scores below its first row.")
    return np.vstack(rows), probes, references


def _cells(line: str, delimiter: str, where: str) -> list[str]:
    """A line as cells; a quote must be closed in its own line, so that no line vanishes in a cell."""
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error as error:
        raise InvalidInput(f"{where} is not a row of cells ({error}).") from None


def _read_bssr1(root: Path, matcher: str | None, budget: Budget) -> tuple[NDArray[np.float64], list[str], list[str]]:
    """Scores, probe subjects, reference subjects of one matcher of a BSSR1 directory."""
    sets, folder = _chosen_folder(root, matcher)
    users, enrollees = _signatures(sets / "users.xml"), _signatures(sets / "enrollees.xml")
    budget.keep("scores", _COPIES * 8 * len(users) * len(enrollees))
    scores = np.empty((len(users), len(enrollees)))
    for row, (name, _) in enumerate(users):
        scores[row] = _read_similarity_file(folder / name, len(enrollees))
    return scores, [subject for _, subject in users], [subject for _, subject in enrollees]


def _chosen_folder(root: Path, matcher: str | None) -> tuple[Path, Path]:
    """The folder of the two lists and the folder of score files that belong together and fit `matcher`."""
    lists = sorted(path.parent for path in root.rglob("users.xml") if path.with_name("enrollees.xml").is_file())
    if not lists:
        raise InvalidInput(f"Directory {root} holds no users.xml with enrollees.xml beside it, as BSSR1 has.")
    found: dict[tuple[str, ...], tuple[Path, Path]] = {}
    for sets in sorted(lists, key=lambda path: len(path.parts)):  # the nearest lists come last and win
        probe = _signatures(sets / "users.xml")[0][0]
        for folder, _, files in os.walk(root):
            label = _label(root, Path(folder))
            if probe in files and label[: len(_label(root, sets))] == _label(root, sets):
                found[label] = (sets, Path(folder))
    wanted = tuple(part for part in (matcher or "").split("/") if part)
    fitting = {label: pair for label, pair in found.items() if label[len(label) - len(wanted) :] == wanted}
    if len(fitting) == 1:
        return next(iter(fitting.values()))
    names = ", ".join("/".join(label) or "." for label in sorted(found)) or "none"
    raise InvalidInput(
        f"Directory {root} has {len(fitting)} score folders that fit matcher={matcher!r}; name one of: {names}."
    )


def _label(root: Path, folder: Path) -> tuple[str, ...]:
    """What a folder is about: its path without the parts `sets` and `sims`, which tell lists from scores."""
    return tuple(part for part in folder.relative_to(root).parts if part not in ("sets", "sims"))


def _signatures(path: Path) -> list[tuple[str, str]]:
    """(name, subject id) of every signature in a BSSR1 list."""
    try:
        root = ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, LookupError, ValueError, OSError) as error:
        raise InvalidInput(f"File {path.name} is not well-formed XML{shown(f' ({error})')}.") from None
    found = [(entry.get("name", ""), entry.get("subject_id", "")) for entry in root.iter() if entry.get("subject_id")]
    if not found:
        raise InvalidInput(f"File {path.name} lists no signature with a name and a subject_id.")
    for name, _ in found:
        if not name or Path(name).name != name:
            raise InvalidInput(
                f"File {path.name} has a signature whose name{shown(f' ({name!r})')} is no plain file name."
            )
    return found


def _read_similarity_file(path: Path, enrollees: int) -> NDArray[np.float64]:
    """Header line, number of scores, scores, and whatever follows them; or the scores alone."""
    if not path.is_file():
        raise InvalidInput(f"Score file {path.name} is listed in users.xml but missing from {path.parent}.")
    with _open_text(path) as handle:
        lines = (line.strip() for line in _text_lines(handle, path))
        words = list(itertools.islice(filter(None, lines), enrollees + 3))
    if words and not _is_number(words[0]):
        stated, words = words[1:2], words[2:]
        if stated != [str(enrollees)]:
            raise InvalidInput(
                f"Score file {path.name} states another number of scores below its header{shown(f' ({stated})')} than "
                f"enrollees.xml lists, {enrollees}."
            )
        words = words[:enrollees]
    if len(words) != enrollees:
        raise InvalidInput(f"Score file {path.name} does not hold as many scores as enrollees.xml lists, {enrollees}.")
    return _numbers(words, f"Score file {path.name}")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
