"""Biometric score sets for reference: those in the data folder measured, those of the paper as published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from entropie.measures.scoreset import score_measures
from entropie.paper.attacks import errors_and_bits, trade_off
from entropie.paper.charts import Rows
from entropie.paper.figure import Results
from entropie.paper.published import BIOMETRIC_BITS
from entropie.paper.settings import Settings
from entropie.paper.sources import score_files
from entropie.paper.steps import Step


def biometric_steps(settings: Settings) -> list[Step]:
    """One step per score set found."""
    return [Step(f"scores: {file.stem}", score_set, {"file": file.name}, 1.0) for file in score_files(settings.data)]


def score_set(settings: Settings, *, file: str) -> dict[str, Any]:
    """Bits, errors and curve of one score set; failed comparisons keep the lowest rank."""
    found = score_measures(
        (settings.data or Path()) / file, failed="keep", seed=settings.seed, replicates=settings.scale.replicates
    )
    return {"users": found.users, **errors_and_bits(found), **trade_off(found)}


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
