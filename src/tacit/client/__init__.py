"""The device's side. Reads the JSON contract alone, as a client in any language does; needs nothing but Python."""

from __future__ import annotations

from tacit.client.client import Client, Delivery, PersonClient, Preview, connect
from tacit.client.interpreter import Interpreter

__all__ = ["Client", "Delivery", "Interpreter", "PersonClient", "Preview", "connect"]
