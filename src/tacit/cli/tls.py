"""Test a certificate and its key with a full TLS handshake in memory."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

from tacit.errors import UsageError

__all__ = ["handshake", "server_context"]


def server_context(certificate: str, private_key: str | None) -> ssl.SSLContext:
    """Return a context that serves a certificate, or refuse unusable files."""
    for path in filter(None, (certificate, private_key)):
        try:
            Path(path).read_bytes()
        except OSError as cause:
            message = f"{Path(path).name} cannot be read: {cause.strerror}. Name a PEM file."
            raise UsageError(message, code="bad-certificate") from None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, private_key, password="")
    except (ssl.SSLError, OSError, ValueError):
        message = (
            f"{Path(certificate).name} is not a PEM certificate with its unencrypted private key. "
            "Give both files: --certificate and --private-key."
        )
        raise UsageError(message, code="bad-certificate") from None
    return context


def handshake(certificate: str, private_key: str | None) -> dict[str, Any]:
    """Return the certificate as a client that trusts its issuer sees it; refuse one that clients would refuse."""
    serving = server_context(certificate, private_key)
    trusting = ssl.create_default_context(cafile=certificate)
    trusting.check_hostname = False
    trusting.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = serving.wrap_bio(there, back, server_side=True)
    client = trusting.wrap_bio(back, there)
    waiting = [client, server]
    while waiting:
        side = waiting.pop(0)
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            waiting.append(side)
        except ssl.SSLCertVerificationError as cause:
            message = f"{Path(certificate).name} is refused by clients: {cause.verify_message}. Renew it."
            raise UsageError(message, code="bad-certificate") from None
        except ssl.SSLError as cause:
            message = f"{Path(certificate).name} fails the TLS handshake ({cause.reason}). Replace it."
            raise UsageError(message, code="bad-certificate") from None
    return dict(client.getpeercert() or {})
