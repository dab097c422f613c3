"""For tests only: a collection without privacy, whose answers must equal SQL on the raw tables.

It cannot be reached through ``epsilon``: its audit fails, so `Collection.encode` refuses it, and only `reveal` encodes.
"""

from __future__ import annotations

import pyarrow as pa

from tacit.collection import Collection
from tacit.contract.budget import MAX_EPSILON, parse_epsilon
from tacit.contract.contract import Channel, CompiledView, Contract, ServiceContract
from tacit.contract.layouts import Levels
from tacit.contract.oracles import Grr
from tacit.contract.randomness import DRAW_BITS, insecure_rng
from tacit.contract.schema import Schema, Service
from tacit.encode.everybody import encode_everybody

__all__ = ["identity_collection", "reveal"]


def identity_collection(schema: Schema) -> Collection:
    """Return a collection of one view per service whose code is the record."""
    services = tuple(_identity(service) for service in schema.services)
    epsilon = parse_epsilon(MAX_EPSILON)
    return Collection._of(Contract(schema, epsilon, "fc", "grr", "identity", DRAW_BITS, services))  # noqa: SLF001


def _identity(service: Service) -> ServiceContract:
    levels = tuple(Levels.of(attribute) for attribute in service.sensitive)
    finest = tuple(attribute.finest for attribute in levels)
    sizes = [attribute.size for attribute in levels if len(attribute) > 1] or [1]
    view = CompiledView(finest, Grr((sizes[0] + service.extras, *sizes[1:]), DRAW_BITS, flip=0), 0)
    return ServiceContract(service, "fc", levels, (Channel("identity", parse_epsilon(MAX_EPSILON), (view,)),))


def reveal(collection: Collection, **tables: pa.Table) -> dict[str, pa.Table]:
    """Encode tables with a collection that protects nobody."""
    return encode_everybody(collection.id, collection.contract, tables, None, insecure_rng(0), None)
