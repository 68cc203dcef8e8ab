"""The OpenAPI documents of both listeners."""

from __future__ import annotations

from typing import Any

import msgspec

from entropie._version import __version__
from entropie.collector.wire import MEDIA_TYPE, MOST_BODY_BYTES, RECORD_BYTES

_COUNT = {"type": "integer", "minimum": 0}
_ID = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "SHA-256 of the collection document.",
    "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
}
_SENTENCES = {
    400: "The body is wrong.",
    401: "The token is missing or wrong.",
    404: "There is no such collection.",
    405: "Another method is needed.",
    408: "The body took too long.",
    410: "The collection takes no reports now.",
    413: "The body is too large.",
    415: "The content type is wrong.",
    422: "The collection guarantees less than it declares.",
    429: "Too many reports for this collection just now; send the same again after Retry-After.",
    503: "Too busy just now; send the same again after Retry-After.",
    507: "The disk is full; send the same again after Retry-After.",
}


def public_document() -> bytes:
    """What anybody may ask."""
    report = {
        "operationId": "report",
        "summary": f"Send reports: records of {RECORD_BYTES} bytes one after the other, a nonce and a cell each.",
        "parameters": [_ID],
        "requestBody": {
            "required": True,
            "content": {
                MEDIA_TYPE: {
                    "schema": {
                        "type": "string",
                        "format": "binary",
                        "minLength": RECORD_BYTES,
                        "maxLength": MOST_BODY_BYTES,
                    }
                }
            },
        },
        "responses": {
            "200": _json("Counted and on the disk.", _object(accepted=_COUNT, duplicate=_COUNT, invalid=_COUNT)),
            **_errors(400, 404, 405, 408, 410, 413, 415, 429, 503, 507),
        },
    }
    document = {
        "operationId": "document",
        "summary": "The collection document, whose SHA-256 is the id.",
        "parameters": [_ID],
        "responses": {"200": _json("The document.", {"type": "object"}), **_errors(404, 405, 503)},
    }
    health = {
        "operationId": "health",
        "summary": "Whether reports are being written.",
        "responses": {
            "200": _json("They are.", _object(status={"type": "string", "const": "ok"})),
            **_errors(405, 503, 507),
        },
    }
    return _document(
        "entropie collector",
        {
            "/v1/collections/{id}/reports": {"post": report},
            "/v1/collections/{id}": {"get": document},
            "/healthz": {"get": health},
        },
    )


def admin_document() -> bytes:
    """What whoever runs the collection may ask."""
    whole = {"type": "object"}
    listed = _get("collections", "All collections.", _object(collections={"type": "array", "items": whole}), one=False)
    created = _object(id={"type": "string"}, created={"type": "boolean"})
    create = {
        "operationId": "create",
        "summary": "Take reports for a collection.",
        "requestBody": {"required": True, "content": {"application/json": {"schema": whole}}},
        "responses": {
            "200": _json("It was here already.", created),
            "201": _json("It is here now.", created),
            **_errors(400, 401, 413, 422, 503, 507),
        },
    }
    close = _get("close", "Take no more reports; drop nonces and their key.", _object(id={"type": "string"}, closed={}))
    seen = _get("seen", "Forget the alerts; those whose cause is still there come again.", _object(id={}, seen={}))
    one = "/v1/collections/{id}"
    metrics = {
        "operationId": "metrics",
        "summary": "Numbers for Prometheus.",
        "responses": {
            "200": {"description": "The numbers.", "content": {"text/plain": {"schema": {"type": "string"}}}},
            **_errors(401, 503),
        },
    }
    paths = {
        "/v1/collections": {"get": listed, "post": create},
        f"{one}/close": {"post": close},
        f"{one}/alerts/seen": {"post": seen},
        "/metrics": {"get": metrics},
    }
    for name, summary in (
        ("status", "All that the dashboard shows."),
        ("estimates", "The largest estimates with intervals."),
        ("risk", "What is guaranteed, and how far fake reports can move an estimate."),
        ("alerts", "What is wrong now."),
        ("export", "Counts by cell, with the document."),
    ):
        paths[f"{one}/{name}"] = {"get": _get(name, summary, whole)}
    return _document("entropie collector, admin", paths, token=True)


def _get(name: str, summary: str, answer: dict[str, Any], *, one: bool = True) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "parameters": [_ID] if one else [],
        "responses": {"200": _json("Done.", answer), **_errors(401, 404, 503, 507)},
    }


def _document(title: str, paths: dict[str, Any], *, token: bool = False) -> bytes:
    scheme = {"token": {"type": "http", "scheme": "bearer"}}
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {"title": title, "version": __version__},
            "paths": paths,
            "components": {"securitySchemes": scheme if token else {}},
            "security": [{"token": []}] if token else [],
        }
    )


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _json(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _errors(*codes: int) -> dict[str, Any]:
    return {str(code): _json(_SENTENCES[code], _object(error={"type": "string"})) for code in codes}
