# SPDX-License-Identifier: MIT
"""The network: a Llama in PyTorch, as small as one that still answers."""
import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional



@dataclass
class Shape:
    vocab: int
    dim: int
    layers: int
    heads: int
    kv_heads: int
    ffn: int

    @property
    def head_dim(self):
        return self.dim // self.heads


TINY = Shape(vocab=1536, dim=160, layers=5, heads=5, kv_heads=1, ffn=416)
CONTEXT = 1024  # tokens the model is said to take; it is trained on chats far shorter
ROPE_BASE, EPSILON = 10000.0, 1e-5


def linear(inputs, outputs):
    return nn.Linear(inputs, outputs, bias=False)


class Norm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON) * self.weight


def rope(x, cos, sin):
    """x: batch, heads, time, head_dim. Interleaved pairs, as llama.cpp's rope of the Llama architecture."""
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


class Block(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.shape = s
        self.attn_norm, self.ffn_norm = Norm(s.dim), Norm(s.dim)
        self.q, self.k, self.v = linear(s.dim, s.dim), linear(s.dim, s.kv_heads * s.head_dim), linear(s.dim, s.kv_heads * s.head_dim)
        self.o, self.gate, self.up, self.down = linear(s.dim, s.dim), linear(s.dim, s.ffn), linear(s.dim, s.ffn), linear(s.ffn, s.dim)

    def attend(self, h, cos, sin, mask):
        (b, t, _), s = h.shape, self.shape
        q = rope(self.q(h).view(b, t, s.heads, s.head_dim).transpose(1, 2), cos, sin)
        k = rope(self.k(h).view(b, t, s.kv_heads, s.head_dim).transpose(1, 2), cos, sin)
        v = self.v(h).view(b, t, s.kv_heads, s.head_dim).transpose(1, 2)
        if s.kv_heads < s.heads:
            k, v = (z.repeat_interleave(s.heads // s.kv_heads, 1) for z in (k, v))
        weights = (q @ k.transpose(-1, -2)) / math.sqrt(s.head_dim) + mask
        return self.o((weights.softmax(-1) @ v).transpose(1, 2).reshape(b, t, s.dim))

    def forward(self, x, cos, sin, mask):
        x = x + self.attend(self.attn_norm(x), cos, sin, mask)
        h = self.ffn_norm(x)
        return x + self.down(functional.silu(self.gate(h)) * self.up(h))


class Model(nn.Module):
    """Logits for the next token at each position; the embedding is also the output layer."""

    def __init__(self, shape=TINY):
        super().__init__()
        self.shape = shape
        self.embed, self.norm = nn.Embedding(shape.vocab, shape.dim), Norm(shape.dim)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)
        for block in self.blocks:
            for w in (block.o.weight, block.down.weight):
                nn.init.normal_(w, std=0.02 / math.sqrt(2 * shape.layers))

    def forward(self, ids):
        t = ids.shape[1]
        mask = torch.full((t, t), float("-inf")).triu(1)
        return self.read(self.embed(ids), torch.arange(t), mask) @ self.embed.weight.T

    def read(self, x, positions, mask):
        """What the output layer is given, for embeddings at positions; the mask is added to the attention's weights."""
        angle = positions[..., None] * ROPE_BASE ** (-torch.arange(0, self.shape.head_dim, 2, device=x.device) / self.shape.head_dim)
        for block in self.blocks:
            x = block(x, angle.cos(), angle.sin(), mask)
        return self.norm(x)
