"""Reading the tensors of an ONNX file without a runtime: the file is protobuf, of which very little occurs in it.

Trusts the lengths that the file states, so only files whose digest was checked may be read. Refuses to know what a
tensor is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

# Field numbers of ONNX's schema: the graph of a model, a tensor of a graph, and the parts of a tensor.
_GRAPH = 7
_TENSOR = 5
_DIMS, _TYPE, _NAME, _CONTENT = 1, 2, 8, 9
_TYPES = {1: np.float32, 3: np.int8}
# Protobuf's wire types: a number, a length and so many bytes, and numbers of fixed size.
_VARINT, _BYTES = 0, 2
_FIXED = {1: 8, 5: 4}


def read_tensors(file: Path) -> dict[str, npt.NDArray[Any]]:
    """Read the float32 and int8 tensors of a model by name, in the order of the file."""
    model = file.read_bytes()
    (graph,) = (value for number, value in _fields(model) if number == _GRAPH and isinstance(value, bytes))
    found: dict[str, npt.NDArray[Any]] = {}
    for number, value in _fields(graph):
        if number == _TENSOR and isinstance(value, bytes):
            parts = dict(_fields(value))
            kind, content, name = parts.get(_TYPE), parts.get(_CONTENT), parts.get(_NAME)
            if kind in _TYPES and isinstance(content, bytes) and isinstance(name, bytes):
                found[name.decode()] = np.frombuffer(content, _TYPES[kind]).reshape(_dims(value))
    return found


def _dims(tensor: bytes) -> list[int]:
    """Read the shape of a tensor: its dimensions are one field each, or packed into one."""
    dims: list[int] = []
    for number, value in _fields(tensor):
        if number == _DIMS:
            dims += [value] if isinstance(value, int) else _unpacked(value)
    return dims


def _unpacked(content: bytes) -> Iterator[int]:
    place = 0
    while place < len(content):
        value, place = _varint(content, place)
        yield value


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Iterate over the fields of a message, each with its number."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        if key & 7 == _VARINT:
            value, place = _varint(message, place)
            yield key >> 3, value
            continue
        size, place = _varint(message, place) if key & 7 == _BYTES else (_FIXED[key & 7], place)
        yield key >> 3, message[place : place + size]
        place += size


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """Read a number of seven bits a byte, and return it with the place after it."""
    value = shift = 0
    while True:
        byte = message[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place
