"""Every matcher that is built in passes the contract that one from outside must pass."""

from __future__ import annotations

from entropie.attack.matchers import MATCHERS
from entropie.testing import MatcherContract

for _made in MATCHERS.values():
    _name = f"Test{type(_made).__name__}"
    globals()[_name] = type(_name, (MatcherContract,), {"matcher": _made})
