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
    from entropie.errors import EntropieError, InvalidInput, InvalidParameter, ParametersMismatch, Unreachable
    from entropie.estimation.counts import Counts
    from entropie.estimation.estimates import Estimates, accuracy
    from entropie.follow_up import compare, report
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

_HOMES = {
    "Assessment": "entropie.assessment",
    "AttributeRisk": "entropie.mitigate.attribute_risk",
    "Audit": "entropie.attack.audit",
    "Budget": "entropie.mechanisms.ledger",
    "Calibration": "entropie.mechanisms.calibrate",
    "Check": "entropie.document.suite",
    "Client": "entropie.collector.client",
    "Counts": "entropie.estimation.counts",
    "Crowd": "entropie.theory.crowd",
    "EntropieError": "entropie.errors",
    "Erasure": "entropie.mechanisms.erasure",
    "Estimates": "entropie.estimation.estimates",
    "Generalisation": "entropie.release.table_plan",
    "Goal": "entropie.mechanisms.goal",
    "Guarantee": "entropie.theory.guarantee",
    "HadamardResponse": "entropie.mechanisms.hadamard",
    "HashFamily": "entropie.mechanisms.hashing",
    "HashedReport": "entropie.mechanisms.local_hashing",
    "HashedReports": "entropie.mechanisms.local_hashing",
    "Identity": "entropie.mechanisms.identity",
    "InvalidInput": "entropie.errors",
    "InvalidParameter": "entropie.errors",
    "Ledger": "entropie.mechanisms.ledger",
    "LedgerGuarantee": "entropie.mechanisms.ledger",
    "LocalHashing": "entropie.mechanisms.local_hashing",
    "LossWeights": "entropie.theory.weights",
    "Manifest": "entropie.release.apply",
    "Mitigation": "entropie.mitigate.mitigation",
    "NoiseResponse": "entropie.mechanisms.noise_response",
    "NotSent": "entropie.collector.client",
    "OutputFailed": "entropie.errors",
    "ParametersMismatch": "entropie.errors",
    "Policy": "entropie.collector.client",
    "Protection": "entropie.mitigate.protection",
    "RandomChoice": "entropie.mechanisms.choice",
    "RandomizedResponse": "entropie.mechanisms.randomized_response",
    "Refused": "entropie.collector.client",
    "ScoreSetMeasures": "entropie.measures.scoreset",
    "StoreAttack": "entropie.attack.store",
    "SubsetSelection": "entropie.mechanisms.subset_selection",
    "Sweep": "entropie.release.result",
    "TableAssessment": "entropie.table",
    "TableManifest": "entropie.release.table_file",
    "UnaryEncoding": "entropie.mechanisms.unary_encoding",
    "Unreachable": "entropie.errors",
    "accuracy": "entropie.estimation.estimates",
    "apply": "entropie.release.apply",
    "assess": "entropie.assessment",
    "attack_store": "entropie.attack.store",
    "attributes": "entropie.table",
    "audit": "entropie.attack.audit",
    "calibrate": "entropie.mechanisms.calibrate",
    "check": "entropie.suite.check",
    "compare": "entropie.follow_up",
    "design": "entropie.mechanisms.calibrate",
    "from_document": "entropie.mechanisms.parameters",
    "generalise": "entropie.release.generalise",
    "parameters_id": "entropie.mechanisms.parameters",
    "protect": "entropie.mitigate.protect",
    "report": "entropie.follow_up",
    "scores": "entropie.measures.scoreset:score_measures",
    "sweep": "entropie.release.sweep",
    "to_document": "entropie.mechanisms.parameters",
}

__all__ = [
    "Assessment",
    "AttributeRisk",
    "Audit",
    "Budget",
    "Calibration",
    "Check",
    "Client",
    "Counts",
    "Crowd",
    "EntropieError",
    "Erasure",
    "Estimates",
    "Generalisation",
    "Goal",
    "Guarantee",
    "HadamardResponse",
    "HashFamily",
    "HashedReport",
    "HashedReports",
    "Identity",
    "InvalidInput",
    "InvalidParameter",
    "Ledger",
    "LedgerGuarantee",
    "LocalHashing",
    "LossWeights",
    "Manifest",
    "Mitigation",
    "NoiseResponse",
    "NotSent",
    "OutputFailed",
    "ParametersMismatch",
    "Policy",
    "Protection",
    "RandomChoice",
    "RandomizedResponse",
    "Refused",
    "ScoreSetMeasures",
    "StoreAttack",
    "SubsetSelection",
    "Sweep",
    "TableAssessment",
    "TableManifest",
    "UnaryEncoding",
    "Unreachable",
    "__version__",
    "accuracy",
    "apply",
    "assess",
    "attack_store",
    "attributes",
    "audit",
    "calibrate",
    "check",
    "compare",
    "design",
    "from_document",
    "generalise",
    "parameters_id",
    "protect",
    "report",
    "scores",
    "sweep",
    "to_document",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'entropie' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    found = getattr(importlib.import_module(module), attribute or name)
    globals()[name] = found  # also where a module has the same name, such as entropie.assessment
    return found


def __dir__() -> list[str]:
    return __all__
