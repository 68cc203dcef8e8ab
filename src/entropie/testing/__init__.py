"""What a part from outside must hold, as test classes to subclass; the parts built in pass the very same ones.

from entropie.testing import MatcherContract

class TestMine(MatcherContract):
    matcher = MyMatcher()

They need no test framework but one that runs methods called `test_...`.
"""

from __future__ import annotations

from entropie.testing.matchers import MatcherContract
from entropie.testing.mechanisms import MechanismContract

__all__ = ["MatcherContract", "MechanismContract"]
