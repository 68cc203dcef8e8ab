"""How identifiable is this data, what must be added so that it is not, and what is it still good for?

The public names, nothing else. They are imported when first used, so that `import entropie` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from entropie._version import __version__

if TYPE_CHECKING:
    from entropie.assessment import Assessment, assess
    from entropie.attack.audit import Audit, audit
    from entropie.attack.store import StoreAttack, attack_store
    from entropie.collector.client import Client, NotSent, Policy, Refused
    from entropie.document.suite import Check
    from entropie.errors import (
        EntropieError,
        InvalidInput,
        InvalidParameter,
        OutputFailed,
        ParametersMismatch,
        Unreachable,
    )
    from entropie.estimation.counts import Counts
    from entropie.estimation.estimates import Estimates, accuracy
    from entropie.follow_up import compare, report
    from entropie.gate.comparison import Comparison
    from entropie.gate.table_comparison import TableComparison
    from entropie.measures.scoreset import ScoreSetMeasures
    from entropie.measures.scoreset import score_measures as scores
    from entropie.mechanisms.calibrate import Calibration, calibrate, design
    from entropie.mechanisms.choice import RandomChoice
    from entropie.mechanisms.erasure import Erasure
    from entropie.mechanisms.goal import Goal
    from entropie.mechanisms.hadamard import HadamardResponse
    from entropie.mechanisms.hashing import HashFamily
    from entropie.mechanisms.identity import Identity
    from entropie.mechanisms.ledger import Budget, Ledger, LedgerGuarantee
    from entropie.mechanisms.local_hashing import HashedReport, HashedReports, LocalHashing
    from entropie.mechanisms.noise_response import NoiseResponse
    from entropie.mechanisms.parameters import from_document, parameters_id, to_document
    from entropie.mechanisms.randomized_response import RandomizedResponse
    from entropie.mechanisms.subset_selection import SubsetSelection
    from entropie.mechanisms.unary_encoding import UnaryEncoding
    from entropie.mitigate.attribute_risk import AttributeRisk
    from entropie.mitigate.mitigation import Mitigation
    from entropie.mitigate.protect import protect
    from entropie.mitigate.protection import Protection
    from entropie.release.apply import Manifest, apply
    from entropie.release.generalise import generalise
    from entropie.release.result import Sweep
    from entropie.release.sweep import sweep
    from entropie.release.table_file import TableManifest
    from entropie.release.table_plan import Generalisation
    from entropie.suite.check import check
    from entropie.table import TableAssessment, attributes
    from entropie.theory.crowd import Crowd
    from entropie.theory.guarantee import Guarantee
    from entropie.theory.weights import LossWeights

_NAMES = {
    "assessment": "Assessment assess",
    "attack.audit": "Audit audit",
    "attack.store": "StoreAttack attack_store",
    "collector.client": "Client NotSent Policy Refused",
    "document.suite": "Check",
    "errors": "EntropieError InvalidInput InvalidParameter OutputFailed ParametersMismatch Unreachable",
    "estimation.counts": "Counts",
    "estimation.estimates": "Estimates accuracy",
    "follow_up": "compare report",
    "gate.comparison": "Comparison",
    "gate.table_comparison": "TableComparison",
    "measures.scoreset": "ScoreSetMeasures scores:score_measures",
    "mechanisms.calibrate": "Calibration calibrate design",
    "mechanisms.choice": "RandomChoice",
    "mechanisms.erasure": "Erasure",
    "mechanisms.goal": "Goal",
    "mechanisms.hadamard": "HadamardResponse",
    "mechanisms.hashing": "HashFamily",
    "mechanisms.identity": "Identity",
    "mechanisms.ledger": "Budget Ledger LedgerGuarantee",
    "mechanisms.local_hashing": "HashedReport HashedReports LocalHashing",
    "mechanisms.noise_response": "NoiseResponse",
    "mechanisms.parameters": "from_document parameters_id to_document",
    "mechanisms.randomized_response": "RandomizedResponse",
    "mechanisms.subset_selection": "SubsetSelection",
    "mechanisms.unary_encoding": "UnaryEncoding",
    "mitigate.attribute_risk": "AttributeRisk",
    "mitigate.mitigation": "Mitigation",
    "mitigate.protect": "protect",
    "mitigate.protection": "Protection",
    "release.apply": "Manifest apply",
    "release.generalise": "generalise",
    "release.result": "Sweep",
    "release.sweep": "sweep",
    "release.table_file": "TableManifest",
    "release.table_plan": "Generalisation",
    "suite.check": "check",
    "table": "TableAssessment attributes",
    "theory.crowd": "Crowd",
    "theory.guarantee": "Guarantee",
    "theory.weights": "LossWeights",
}
_HOMES = {name.partition(":")[0]: (home, name) for home, names in _NAMES.items() for name in names.split()}
"""Each public name, the module it is from, and after a colon what it is called there."""

__all__ = [
    "Assessment", "AttributeRisk", "Audit", "Budget", "Calibration", "Check", "Client", "Comparison", "Counts",
    "Crowd", "EntropieError", "Erasure", "Estimates", "Generalisation", "Goal", "Guarantee", "HadamardResponse",
    "HashFamily", "HashedReport", "HashedReports", "Identity", "InvalidInput", "InvalidParameter", "Ledger",
    "LedgerGuarantee", "LocalHashing", "LossWeights", "Manifest", "Mitigation", "NoiseResponse", "NotSent",
    "OutputFailed", "ParametersMismatch", "Policy", "Protection", "RandomChoice", "RandomizedResponse", "Refused",
    "ScoreSetMeasures", "StoreAttack", "SubsetSelection", "Sweep", "TableAssessment", "TableComparison",
    "TableManifest", "UnaryEncoding", "Unreachable", "__version__", "accuracy", "apply", "assess", "attack_store",
    "attributes", "audit", "calibrate", "check", "compare", "design", "from_document", "generalise", "parameters_id",
    "protect", "report", "scores", "sweep", "to_document",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'entropie' has no attribute {name!r}")
    home, named = _HOMES[name]
    found = getattr(importlib.import_module(f"entropie.{home}"), named.rpartition(":")[2])
    globals()[name] = found  # also where a module has the same name, such as entropie.assessment
    return found


def __dir__() -> list[str]:
    return __all__
