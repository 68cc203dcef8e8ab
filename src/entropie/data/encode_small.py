"""Ids to codes in memory, for a table that fits: what `encode_duckdb` gives, without its eighty megabytes.

Where a text may mean something to DuckDB that is not certain here, nothing is returned and DuckDB decides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.data.classify import judge
from entropie.data.encoding import NO_USER, Encoded, Rules, settle
from entropie.data.rejects import Rejects

__all__ = ["encode_small"]


def encode_small(
    batches: Sequence[pa.RecordBatch], schema: pa.Schema, rules: Rules, rejects: Rejects
) -> Encoded | None:
    """Encode all rows at once; None if a text can be read by DuckDB alone."""
    judged = judge(batches, schema, rules)
    if judged is None:
        return None
    ticks = judged.verdicts.ticks
    rows = settle(_counted(judged.verdicts.reasons), rules, rejects)
    kept = judged.verdicts.reasons == 0
    user_codes, user_ids = judged.users.ranked(kept, int(NO_USER))
    item_codes, item_ids = judged.items.ranked(kept, 0)
    ticks[~kept[: ticks.size]] = 0
    return Encoded(rows, user_codes, item_codes, ticks, user_ids, item_ids)


def _counted(reasons: NDArray[np.uint8]) -> dict[int, int]:
    codes, counts = np.unique(reasons, return_counts=True)
    return dict(zip(codes.tolist(), counts.tolist(), strict=True))
