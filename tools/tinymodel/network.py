# SPDX-License-Identifier: MIT
"""The network: a Llama in PyTorch, as small as one that still answers."""
import math

import torch
from torch import nn
from torch.nn import functional

VOCAB, DIM, LAYERS, HEADS, KV_HEADS, FFN = 1536, 160, 5, 5, 1, 416
HEAD_DIM = DIM // HEADS
CONTEXT = 1024  # tokens the model is said to take; it is trained on chats far shorter
ROPE_BASE, EPSILON = 10000.0, 1e-5


def linear(inputs, outputs):
    return nn.Linear(inputs, outputs, bias=False)


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(DIM))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON) * self.weight


def rope(x, cos, sin):
    """x: batch, heads, time, head_dim. Interleaved pairs, as llama.cpp's rope of the Llama architecture."""
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn_norm, self.ffn_norm = Norm(), Norm()
        self.q, self.k, self.v = linear(DIM, DIM), linear(DIM, KV_HEADS * HEAD_DIM), linear(DIM, KV_HEADS * HEAD_DIM)
        self.o, self.gate, self.up, self.down = linear(DIM, DIM), linear(DIM, FFN), linear(DIM, FFN), linear(FFN, DIM)

    def attend(self, h, cos, sin, mask):
        b, t, _ = h.shape
        q = rope(self.q(h).view(b, t, HEADS, HEAD_DIM).transpose(1, 2), cos, sin)
        k = rope(self.k(h).view(b, t, KV_HEADS, HEAD_DIM).transpose(1, 2), cos, sin)
        v = self.v(h).view(b, t, KV_HEADS, HEAD_DIM).transpose(1, 2)
        k, v = (z.repeat_interleave(HEADS // KV_HEADS, 1) for z in (k, v))
        weights = (q @ k.transpose(-1, -2)) / math.sqrt(HEAD_DIM) + mask
        return self.o((weights.softmax(-1) @ v).transpose(1, 2).reshape(b, t, DIM))

    def forward(self, x, cos, sin, mask):
        x = x + self.attend(self.attn_norm(x), cos, sin, mask)
        h = self.ffn_norm(x)
        return x + self.down(functional.silu(self.gate(h)) * self.up(h))


class Model(nn.Module):
    """Logits for the next token at each position; the embedding is also the output layer."""

    def __init__(self, layers=LAYERS):
        super().__init__()
        self.embed, self.norm = nn.Embedding(VOCAB, DIM), Norm()
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)
        for block in self.blocks:
            for w in (block.o.weight, block.down.weight):
                nn.init.normal_(w, std=0.02 / math.sqrt(2 * LAYERS))

    def forward(self, ids):
        t = ids.shape[1]
        mask = torch.full((t, t), float("-inf")).triu(1)
        return self.read(self.embed(ids), torch.arange(t), mask) @ self.embed.weight.T

    def read(self, x, positions, mask):
        """What the output layer is given, for embeddings at positions; the mask is added to the attention's weights."""
        angle = positions[..., None] * ROPE_BASE ** (-torch.arange(0, HEAD_DIM, 2) / HEAD_DIM)
        for block in self.blocks:
            x = block(x, angle.cos(), angle.sin(), mask)
        return self.norm(x)
