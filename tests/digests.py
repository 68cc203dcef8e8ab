"""A name for the content of traces, so that two readings can be compared."""

from __future__ import annotations

import hashlib

from entropie.data.traces import Traces


def traces_sha256(traces: Traces) -> str:
    digest = hashlib.sha256(f"traces/1 {traces.domain_size} {traces.times is not None}".encode())
    digest.update(traces.offsets.astype("<i8", copy=False).data)
    digest.update(traces.items.astype("<u4", copy=False).data)
    if traces.times is not None:
        digest.update(traces.times.astype("<i8", copy=False).data)
    return digest.hexdigest()
