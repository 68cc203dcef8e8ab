"""Changes of alerts to another service: one signed POST, so that it can tell them from anybody else's.

    Entropie-Signature: t=<seconds since 1970>,v1=<HMAC-SHA256 of "<t>." and the body, in hexadecimal>

The receiver computes the same with the shared secret, compares in constant time and refuses what is old: `verified`.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import re
import urllib.parse
from dataclasses import dataclass

import msgspec

from entropie.collector.alerts import Changes
from entropie.errors import InvalidParameter

SIGNATURE_HEADER = "Entropie-Signature"
_LEAST_SECRET_BYTES = 16
_TIMEOUT_SECONDS = 10.0
_OLDEST_SECONDS = 300
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_FORM = re.compile(r"t=([0-9]{1,12}),v1=([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where changes go, and the secret they are signed with."""

    url: str
    secret: bytes

    def __post_init__(self) -> None:
        parts = urllib.parse.urlsplit(self.url)
        safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
        if not safe or not parts.hostname or parts.username is not None:
            raise InvalidParameter("The webhook's address must begin with https://, or be on this machine.")
        if len(self.secret) < _LEAST_SECRET_BYTES:
            raise InvalidParameter(f"The webhook's secret must have at least {_LEAST_SECRET_BYTES} bytes.")

    def send(self, changed: Changes, now: int) -> str | None:
        """Deliver; None where the receiver took it, else a sentence that says why not. Redirects are not followed."""
        parts = urllib.parse.urlsplit(self.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        body = msgspec.json.encode(changed)
        headers = {"Content-Type": "application/json", SIGNATURE_HEADER: signature(self.secret, body, now)}
        connection = kind(parts.hostname or "", parts.port, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request("POST", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), body, headers)
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return "The webhook's receiver cannot be reached; the alert is on the dashboard and in the log."
        finally:
            connection.close()
        if 200 <= status < 300:
            return None
        return f"The webhook's receiver answered {status}; the alert is on the dashboard and in the log."


def signature(secret: bytes, body: bytes, now: int) -> str:
    """What the header says of this body at this second."""
    return f"t={now},v1={hmac.new(secret, f'{now}.'.encode() + body, hashlib.sha256).hexdigest()}"


def verified(secret: bytes, body: bytes, header: str, now: int) -> bool:
    """Whether the body is signed with this secret, and not more than five minutes ago or ahead."""
    found = _FORM.fullmatch(header)
    if not found or abs(now - int(found[1])) > _OLDEST_SECONDS:
        return False
    return hmac.compare_digest(signature(secret, body, int(found[1])), header)
