# SPDX-License-Identifier: MIT
"""What the tower learns from besides answers: what is on each patch, and what is on the drawing."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional

from drawings import BACKGROUNDS, COLORS, DIGITS, MOST, SHAPES, SIDE, paint
from tower import GRID, MERGE, PATCH, WIDTH

THINGS = SHAPES + DIGITS
KINDS = 1 + len(THINGS)  # nothing, and the shapes and digits
PARTS = [("shape", KINDS), ("color", 1 + len(COLORS)), ("center", KINDS)]


def targets(d, of):
    """Numbers of classes: of the patches' middles, and of the whole."""
    shapes = [0] + [1 + THINGS.index(t.shape) for t in d.things]
    colors = [0] + [1 + COLORS.index(t.color) for t in d.things]
    middle = of[PATCH // 2::PATCH, PATCH // 2::PATCH].reshape(-1)
    center = np.zeros((GRID, GRID), dtype=np.int64)
    for i, t in enumerate(d.things):
        center[int(t.y) * GRID // SIDE, int(t.x) * GRID // SIDE] = shapes[1 + i]
    whole = [sum(t.shape == s for t in d.things) for s in SHAPES] + [sum(t.color == c for t in d.things) for c in COLORS]
    whole.append(next((DIGITS.index(t.shape) for t in d.things if t.shape in DIGITS), len(DIGITS)))
    whole.append(BACKGROUNDS.index(d.background) if d.background else len(BACKGROUNDS))
    return np.array(shapes)[middle], np.array(colors)[middle], center.reshape(-1), np.array(whole)


WHOLE = [MOST + 1] * (len(SHAPES) + len(COLORS)) + [len(DIGITS) + 1, len(BACKGROUNDS) + 1]


def batch(drawings):
    """Pixels as bytes, and the targets."""
    painted = [paint(d) for d in drawings]
    pixels = torch.from_numpy(np.stack([p for p, _ in painted]))
    marks = zip(*(targets(d, of) for d, (_, of) in zip(drawings, painted)))
    return pixels, [torch.from_numpy(np.stack(m)) for m in marks]


PLACE = [GRID // MERGE] * 2 + [KINDS] * MERGE ** 2  # what an embedding is to say of itself: its row, its column, and the centers on its patches


def joined(centers):
    """The marks of embeddings, of those of patches."""
    b, n = len(centers), GRID // MERGE
    places = torch.arange(n * n, device=centers.device).expand(b, -1)
    rows, columns = places // n, places % n
    of = centers.view(b, n, MERGE, n, MERGE).permute(0, 2, 4, 1, 3).reshape(b, MERGE * MERGE, n * n)
    return [rows, columns, *of.unbind(1)]


class Looking(nn.Module):
    """Heads on the patches' features and on the mean of the embeddings, which are thrown away after training."""

    def __init__(self, width):
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(WIDTH, n) for _, n in PARTS)
        self.whole = nn.Linear(width, sum(WHOLE))
        self.place = nn.Linear(width, sum(PLACE))

    def forward(self, patches, embeddings, marks):
        """The loss, and the shares that are right: of the shapes and the colours of patches, of centers, of counts of shapes, of digits, of backgrounds."""
        loss, right = 0, []
        for head, mark, _ in zip(self.parts, marks, PARTS):
            out, mark = head(patches).flatten(0, 1), mark.flatten()
            weights = torch.where(mark > 0, 1.0, 0.3)
            loss = loss + (functional.cross_entropy(out, mark, reduction="none") * weights).sum() / weights.sum()
            there = (mark > 0).float()
            right.append(((out.argmax(-1) == mark) * there).sum() / there.sum())
        for out, mark in zip(self.place(embeddings).split(PLACE, -1), joined(marks[2])):
            loss = loss + 0.3 * functional.cross_entropy(out.flatten(0, 1), mark.flatten())
        exact, of = [], self.whole(embeddings.mean(1)).split(WHOLE, -1)
        for i, out in enumerate(of):
            part = functional.cross_entropy(out, marks[3][:, i])
            loss = loss + part * (0.2 if i < len(SHAPES) or WHOLE[i] == len(DIGITS) + 1 else 0.1)
            exact.append((out.argmax(-1) == marks[3][:, i]).float())
        return loss, right + [torch.stack(exact[:len(SHAPES)]).mean(), exact[-2].mean(), exact[-1].mean()]
