"""The matchers, one file each, and where they are found by name.

Another package adds one by an entry point of the group `entropie.matchers`; it runs where it is asked for by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from entropie.attack.matchers.bayes import Bayes
from entropie.attack.matchers.contract import ItemMatcher, Matcher, MatcherRates, Pass, Population, Rows, Trained
from entropie.attack.matchers.cosine import Cosine
from entropie.attack.matchers.markov import Markov
from entropie.attack.matchers.pitman_yor import PitmanYor
from entropie.attack.matchers.tfidf import TfIdf
from entropie.attack.matchers.visit import Visit
from entropie.plugins import Registry

__all__ = [
    "MATCHERS",
    "ItemMatcher",
    "Matcher",
    "MatcherRates",
    "Pass",
    "Population",
    "Rows",
    "Trained",
    "matcher",
]

MATCHERS: Mapping[str, Matcher] = MappingProxyType(
    {made.name: made for made in (Markov(), Visit(), TfIdf(), Cosine(), Bayes(), PitmanYor())}
)
"""The matchers that come with this package, by name: those that run where none is asked for."""

_REGISTRY: Registry[Matcher] = Registry("entropie.matchers", "matcher", "name", MATCHERS)


def matcher(name: str) -> Matcher:
    """Find a matcher by name, built in or installed; refuses an unknown one."""
    return _REGISTRY.find(name)
