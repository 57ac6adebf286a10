# SPDX-License-Identifier: MIT
"""The network that sees: a small vision transformer and a projector, as llama.cpp computes the kind "nemotron_v2_vl".

Each patch is a token. Behind the last layer, squares of MERGE x MERGE tokens are joined, normed and projected to the text
model's width. That kind scales every picture to one size and puts nothing around it in the prompt.
"""
import math

import torch
from torch import nn
from torch.nn import functional

from drawings import SIDE
from export import ARRAY, BOOL, F32, STRING, U32, write_gguf

PATCH, WIDTH, LAYERS, HEADS, FFN, MERGE, HIDDEN = 12, 96, 4, 3, 256, 2, 256
REGISTERS = 4  # tokens that stand for no patch
GRID = SIDE // PATCH
TOKENS = (GRID // MERGE) ** 2  # embeddings of a picture
EPSILON = 1e-6


PLACE = 32  # of WIDTH numbers, those that say at first where a patch is and nothing else; as many as a head has
WAVES = PLACE // 4  # of rows, and as many of columns
NEIGHBOURS = [[(0, -1), (0, 1), (1, 0)], [(-1, 0), (1, 0), (0, -1)], [(0, 1)]]  # which patch a layer's heads look at in the beginning


def waves(row, column):
    """Cosines and sines of a place, so that a shift is a rotation of pairs."""
    turns = math.pi / WAVES * torch.arange(1, WAVES + 1)
    return torch.cat([f(at * turns) for at in (row, column) for f in (torch.cos, torch.sin)])


def shift(row, column):
    """The matrix that makes the waves of a place those of the place so far before it."""
    out = torch.zeros(PLACE, PLACE)
    for start, by in ((0, row), (2 * WAVES, column)):
        for i in range(WAVES):
            a, c, s = -by * math.pi * (i + 1) / WAVES, start + i, start + WAVES + i
            out[c, c], out[c, s], out[s, c], out[s, s] = math.cos(a), -math.sin(a), math.sin(a), math.cos(a)
    return out


def patches_of(pixels):
    """batch x patches x numbers from -1 to 1: all of red, of green and of blue, row by row."""
    b, pixels = pixels.shape[0], pixels.float() / 127.5 - 1
    return pixels.view(b, GRID, PATCH, GRID, PATCH, 3).permute(0, 1, 3, 5, 2, 4).reshape(b, GRID * GRID, -1)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(WIDTH, EPSILON), nn.LayerNorm(WIDTH, EPSILON)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, FFN), nn.Linear(FFN, WIDTH)

    def attend(self, h):
        b, t, _ = h.shape
        q, k, v = self.qkv(h).view(b, t, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        weights = (q / math.sqrt(WIDTH // HEADS)) @ k.transpose(-1, -2)
        return self.out((weights.softmax(-1) @ v).transpose(1, 2).reshape(b, t, WIDTH))

    def forward(self, x):
        x = x + self.attend(self.ln1(x))
        return x + self.down(functional.gelu(self.up(self.ln2(x)), approximate="tanh"))


class Tower(nn.Module):
    """From pixels, batch x SIDE x SIDE x 3 bytes, to features of patches and to TOKENS embeddings of the text model's width."""

    def __init__(self, width):
        super().__init__()
        self.patch = nn.Linear(3 * PATCH * PATCH, WIDTH)
        self.position = nn.Parameter(torch.zeros(GRID * GRID, WIDTH))
        self.registers = nn.Parameter(torch.randn(REGISTERS, WIDTH) * 0.1)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.post = nn.LayerNorm(WIDTH, EPSILON)
        joined = MERGE * MERGE * WIDTH
        self.norm = nn.Parameter(torch.ones(joined))
        self.first, self.second = nn.Linear(joined, HIDDEN, bias=False), nn.Linear(HIDDEN, width, bias=False)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, std=1 / math.sqrt(m.in_features))
                if m.bias is not None:
                    nn.init.zeros_(m.bias)
        self.begin()

    @torch.no_grad()
    def begin(self):
        """Has the first layers begin as a convolution: their heads look at patches beside each. Learning where to look takes longest."""
        for i in range(GRID * GRID):
            self.position[i, -PLACE:] = 0.7 * waves(i // GRID, i % GRID)
        for layer in self.layers:
            for m in (layer.out, layer.down):
                nn.init.normal_(m.weight, std=0.5 / math.sqrt(m.in_features))
                m.weight[-PLACE:] = 0
        for layer, heads in zip(self.layers, NEIGHBOURS):
            for h, by in enumerate(heads):
                rows = slice(h * PLACE, (h + 1) * PLACE)
                for part, to in zip(layer.qkv.weight.split(WIDTH), (torch.eye(PLACE), shift(*by))):
                    part[rows] = 0
                    part[rows, -PLACE:] = 2 * to

    @torch.no_grad()
    def whiten(self, pixels):
        """Has the first layer begin with what patches differ in most, all to the same extent. It learns many times faster than from
        weights at random, since the pixels of a patch are nearly the same."""
        x = patches_of(pixels).flatten(0, 1)
        mean = x.mean(0)
        size, way = torch.linalg.eigh((x - mean).T @ (x - mean) / len(x))
        size, way = size[PLACE - WIDTH:], way[:, PLACE - WIDTH:]
        self.patch.weight.zero_()
        self.patch.weight[:-PLACE] = (way / (size + 1e-3).sqrt()).T
        self.patch.bias.copy_(-self.patch.weight @ mean)

    def forward(self, pixels):
        b = pixels.shape[0]
        x = self.patch(patches_of(pixels)) + self.position
        x = torch.cat([self.registers.expand(b, -1, -1), x], 1)
        for layer in self.layers:
            x = layer(x)
        patches = self.post(x)[:, REGISTERS:]
        n = GRID // MERGE
        x = patches.view(b, n, MERGE, n, MERGE, WIDTH).permute(0, 1, 3, 2, 4, 5).reshape(b, n * n, -1)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.norm
        return patches, self.second(functional.relu(self.first(x)).pow(2))


def metadata(width):
    """What is in the header of the projector's file."""
    return [
        ("general.architecture", STRING, "clip"), ("general.type", STRING, "mmproj"), ("general.name", STRING, "Penstock Tiny Vision"),
        ("general.description", STRING, "Sees simple drawings, for demonstrations and tests."), ("general.file_type", U32, 7),
        ("clip.has_vision_encoder", BOOL, True), ("clip.projector_type", STRING, "nemotron_v2_vl"), ("clip.use_gelu", BOOL, True),
        ("clip.vision.image_size", U32, SIDE), ("clip.vision.patch_size", U32, PATCH), ("clip.vision.embedding_length", U32, WIDTH),
        ("clip.vision.feed_forward_length", U32, FFN), ("clip.vision.block_count", U32, LAYERS), ("clip.vision.attention.head_count", U32, HEADS),
        ("clip.vision.attention.layer_norm_epsilon", F32, EPSILON), ("clip.vision.projection_dim", U32, width),
        ("clip.vision.projector.scale_factor", U32, MERGE), ("clip.vision.image_mean", (ARRAY, F32), [0.5] * 3), ("clip.vision.image_std", (ARRAY, F32), [0.5] * 3),
    ]


def tensors(tower):
    """(name, tensor) in libmtmd's names."""
    named = [("v.patch_embd.weight", tower.patch.weight.view(WIDTH, 3, PATCH, PATCH)), ("v.patch_embd.bias", tower.patch.bias),
             ("v.position_embd.weight", tower.position), ("v.class_embd", tower.registers)]
    for i, layer in enumerate(tower.layers):
        for kind in ("weight", "bias"):
            q, k, v = getattr(layer.qkv, kind).split(WIDTH)
            parts = [("ln1", layer.ln1), ("ln2", layer.ln2), ("attn_out", layer.out), ("ffn_up", layer.up), ("ffn_down", layer.down)]
            found = [("attn_q", q), ("attn_k", k), ("attn_v", v)] + [(name, getattr(part, kind)) for name, part in parts]
            named += [(f"v.blk.{i}.{name}.{kind}", w) for name, w in found]
    return named + [("v.post_ln.weight", tower.post.weight), ("v.post_ln.bias", tower.post.bias), ("mm.model.mlp.0.weight", tower.norm),
                    ("mm.model.mlp.1.weight", tower.first.weight), ("mm.model.mlp.3.weight", tower.second.weight)]


def write_tower(path, tower, width):
    write_gguf(path, metadata(width), [(name, w.detach().cpu().numpy()) for name, w in tensors(tower)])
