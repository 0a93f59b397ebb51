"""The messages of the Open Inference Protocol's gRPC service.

They are made from the descriptor in grpc_service.binpb, in a pool of their own: a process may also have the generated messages of tritonclient,
which have the same names.
"""

from __future__ import annotations

import pathlib
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

SERVICE = "inference.GRPCInferenceService"


def _pool() -> Any:
    pool = descriptor_pool.DescriptorPool()
    data = (pathlib.Path(__file__).parent / "grpc_service.binpb").read_bytes()
    for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
        pool.Add(file)
    return pool


pool = _pool()
service = pool.FindServiceByName(SERVICE)


def message(name: str) -> Any:
    """The class of a message: 'ModelInferRequest'."""
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"inference.{name}"))
