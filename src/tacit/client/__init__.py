"""The client on a person's device. Reads only the JSON contract, and needs only the standard library."""

from __future__ import annotations

from tacit.client.client import Client, Delivery, PersonClient, Preview, connect
from tacit.client.interpreter import Interpreter

__all__ = ["Client", "Delivery", "Interpreter", "PersonClient", "Preview", "connect"]
