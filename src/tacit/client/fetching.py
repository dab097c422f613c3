"""Fetch a contract and its dictionaries, once; only files with the pinned hash are accepted."""

from __future__ import annotations

import hashlib

from tacit.client.dictionary import MAX_FILE, dictionary_values, sha256_of
from tacit.client.transport import Transport
from tacit.client.wallet import Wallet
from tacit.errors import ContractError, EngineError

__all__ = ["fetch_contract", "fetch_dictionary"]


def fetch_contract(transport: Transport, collection: str) -> str:
    """Return the text of the contract with this hash."""
    answered = transport.get(f"/v1/collections/{collection}")
    if answered.status != 200:
        message = f"The contract cannot be fetched ({answered.status or 'no answer'}). Try again when you are online."
        raise EngineError(message, code=answered.code or "no-answer")
    if hashlib.sha256(answered.content).hexdigest() != collection:
        message = "The contract is not the one that was reviewed: its hash differs. Nothing is encoded with it."
        raise ContractError(message, code="contract-differs")
    return answered.content.decode()


def fetch_dictionary(transport: Transport, wallet: Wallet, sha256: str) -> bytes:
    """Return a dictionary's file: from the wallet, or from the collector."""
    stored = wallet.contract(sha256)
    if stored is not None and sha256_of(stored.encode()) == sha256:
        return stored.encode()
    answered = transport.get(f"/v1/dictionaries/{sha256}", MAX_FILE)
    if answered.status != 200:
        message = f"The dictionary {sha256[:16]}… cannot be fetched ({answered.status or 'no answer'}). Try again."
        raise EngineError(message, code=answered.code or "no-answer")
    text = "".join(f"{value}\n" for value in dictionary_values(answered.content, sha256))
    wallet.keep_contract(sha256, text)
    return text.encode()
