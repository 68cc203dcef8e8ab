"""Biometric score sets for reference: those in the data folder measured, those of the paper as published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from entropie.measures.scoreset import score_measures
from entropie.paper.charts import Rows
from entropie.paper.figure import Results
from entropie.paper.published import BIOMETRIC_BITS
from entropie.paper.settings import Settings
from entropie.paper.sources import score_files
from entropie.paper.steps import Step

__all__ = ["biometric_rows", "biometric_steps"]


def biometric_steps(settings: Settings) -> list[Step]:
    """One step per score set found."""
    return [Step(f"scores: {file.stem}", score_set, {"file": file.name}, 1.0) for file in score_files(settings.data)]


def score_set(settings: Settings, *, file: str) -> dict[str, Any]:
    """Bits, errors and curve of one score set; failed comparisons keep the lowest rank."""
    found = score_measures(
        (settings.data or Path()) / file, failed="keep", seed=settings.seed, replicates=settings.scale.replicates
    )
    error = found.identification_error
    assert error is not None
    return {
        "users": found.users,
        "error": error.value,
        "error_low": error.low,
        "error_high": error.high,
        "pse_bits": found.pse.value_bits,
        "pse_low_bits": found.pse.low_bits,
        "pse_high_bits": found.pse.high_bits,
        "resolvable_bits": found.pse.resolvable_bits,
        "unmatched_share": found.pse.unmatched_genuine_share,
        "pse_finite_bits": found.pse_finite.value,
        "pse_paper_bits": None if found.pse_paper is None else found.pse_paper.value_bits,
        "equal_error": found.eer.value,
        "equal_error_low": found.eer.low,
        "equal_error_high": found.eer.high,
        "det": found.det.to_json(),
    }


def biometric_rows(settings: Settings, results: Results) -> Rows:
    """Published references, then the sets that were measured here."""
    rows: Rows = [
        {"purpose": "reference", "data": name, "matcher": "biometric", "events": "", "published_bits": bits}
        for name, bits in BIOMETRIC_BITS.items()
    ]
    for file in score_files(settings.data):
        found = {key: value for key, value in results[f"scores: {file.stem}"].items() if key != "det"}
        rows.append({"purpose": "reference", "data": file.stem, "matcher": "biometric", "events": "", **found})
    return rows
