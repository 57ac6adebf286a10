# SPDX-License-Identifier: MIT
"""Reads a GGUF file that export.py wrote."""
import struct

import numpy as np
import torch

from export import ALIGNMENT, ARRAY, BOOL, F32, I32, STRING, U32


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, layout):
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values[0] if len(values) == 1 else values

    def text(self):
        n = self.take("Q")
        self.at += n
        return self.data[self.at - n:self.at].decode()

    def value(self, kind):
        if kind == STRING:
            return self.text()
        if kind == ARRAY:
            of, n = self.take("IQ")
            return [self.value(of) for _ in range(n)]
        return self.take({U32: "I", I32: "i", F32: "f", BOOL: "?"}[kind])


def read_gguf(path):
    """The metadata and the tensors, as numbers of 32 bits."""
    with open(path, "rb") as file:
        r = Reader(file.read())
    r.at = 8
    tensors, keys = r.take("QQ")
    values = {}
    for _ in range(keys):
        key = r.text()
        values[key] = r.value(r.take("I"))
    infos = []
    for _ in range(tensors):
        name, dims = r.text(), r.take("I")
        infos.append((name, [r.take("Q") for _ in range(dims)][::-1], *r.take("IQ")))
    start = r.at + -r.at % ALIGNMENT
    return values, {name: numbers(r.data, start + offset, shape, kind) for name, shape, kind, offset in infos}


def numbers(data, at, shape, kind):
    n = int(np.prod(shape))
    if kind == 0:
        w = np.frombuffer(data, "<f4", n, at)
    elif kind == 1:
        w = np.frombuffer(data, "<f2", n, at).astype(np.float32)
    else:
        blocks = np.frombuffer(data, np.dtype([("scale", "<f2"), ("q", "i1", 32)]), n // 32, at)
        w = blocks["scale"].astype(np.float32)[:, None] * blocks["q"].astype(np.float32)
    return torch.tensor(w.reshape(shape).copy())
