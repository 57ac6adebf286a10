# SPDX-License-Identifier: MIT
"""Drawings of a small world: what is on them, and their pixels. world.json has the names and colours."""
import json
import math
import os
from dataclasses import dataclass

import numpy as np

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "world.json"), encoding="utf-8") as file:
    WORLD = json.load(file)
SHAPES, NUMBERS, DIGITS = WORLD["shapes"], WORLD["numbers"], list(WORLD["digits"])
STROKES = {digit: np.array(path, dtype=np.float32) for digit, path in WORLD["digits"].items()}  # y grows downwards
COLORS = list(WORLD["colors"])
BACKGROUNDS = COLORS + ["gray"]
SIDE = 72  # pixels of what the tower sees
MOST = len(NUMBERS) - 1  # shapes on a drawing
COUNTS = [1, 2, 3, 3, 4, 4, 5, 5, 5]  # how many there are where they are to be counted


@dataclass
class Thing:
    """A shape: where its centre is, how large it is, how far it is turned, all in pixels and radians."""
    shape: str  # one of SHAPES or of DIGITS
    color: str
    x: float = 0
    y: float = 0
    size: float = 0
    turn: float = 0
    rgb: tuple = ()

    @property
    def name(self):
        return f"{self.color} {self.shape}"


@dataclass
class Drawing:
    things: list
    background: str  # one of BACKGROUNDS; empty: it has no name
    rgb: tuple
    frame: tuple = (0, 0, SIDE, SIDE)  # left, top, right and bottom; the rest is black, as where a picture is not square
    blur: float = 1
    noise: float = 0
    seed: int = 0


def mix(r, anchors, jitter=12):
    """A colour between two of those that have a name."""
    a, b, t = r.choice(anchors), r.choice(anchors), r.random() ** 2
    return tuple(min(255, max(0, x + (y - x) * t + r.uniform(-jitter, jitter))) for x, y in zip(a, b))


def apart(a, b):
    return sum(abs(x - y) for x, y in zip(a, b)) > 130


def background(r):
    """A name and a colour: mostly paper."""
    k = r.random()
    if k < 0.58:
        return "white", mix(r, WORLD["colors"]["white"])
    if k < 0.72:
        return "black", mix(r, WORLD["colors"]["black"])
    if k < 0.79:
        return "gray", mix(r, WORLD["gray"])
    if k < 0.87:
        color = r.choice(COLORS)
        return color, mix(r, WORLD["colors"][color])
    tint = mix(r, WORLD["colors"][r.choice(COLORS)])
    return "", tuple(255 - (255 - x) * 0.3 for x in tint)


def pick_color(r, under, among=COLORS):
    """A colour that can be told from what is under it: name and numbers."""
    while True:
        name = r.choice(among)
        rgb = mix(r, WORLD["colors"][name])
        if apart(rgb, under[1]) and name != under[0]:
            return name, rgb
        among = COLORS


def place(r, things, frame, row):
    """Puts the things where they do not touch; False if there is no room."""
    left, top, right, bottom = frame
    if row:
        return place_in_row(r, things, frame)
    for i, t in enumerate(things):
        for _ in range(60):
            margin = t.size * 1.15 + 1
            if right - left < 2 * margin or bottom - top < 2 * margin:
                return False
            t.x, t.y = r.uniform(left + margin, right - margin), r.uniform(top + margin, bottom - margin)
            if all(math.hypot(t.x - o.x, t.y - o.y) > 1.2 * (t.size + o.size) + 1 for o in things[:i]):
                break
        else:
            return False
    return True


def place_in_row(r, things, frame):
    """Side by side, as one draws by hand."""
    left, top, right, bottom = frame
    width = (right - left) / len(things)
    size = max(t.size for t in things)
    if width < 2.3 * size + 1:
        return False
    slack = (width - 2.3 * size) / 2
    middle = r.uniform(top + 1.2 * size, bottom - 1.2 * size)
    for i, t in enumerate(things):
        t.x = left + (i + 0.5) * width + r.uniform(-slack, slack) * 0.8
        t.y = min(bottom - 1.2 * size, max(top + 1.2 * size, middle + r.uniform(-2, 2)))
    return True


def tilt(r):
    return r.uniform(-0.25, 0.25) if r.random() < 0.5 else 0.0


def many(r, under, scale):
    """One to five things of a few kinds."""
    shapes = r.sample(SHAPES, r.choice([1, 1, 2, 2, 3]))
    colors = r.sample(COLORS, r.choice([1, 1, 2, 3]))
    base = r.uniform(7, 10) * scale
    things = []
    for _ in range(r.choice(COUNTS)):
        color, rgb = pick_color(r, under, colors)
        things.append(Thing(r.choice(shapes), color, size=base * r.uniform(0.88, 1.12), rgb=rgb))
    return things


def few(r, under, scale):
    """Two or three things of different shapes, which may differ in size."""
    things = []
    for shape in r.sample(SHAPES, r.choice([2, 2, 2, 3])):
        color, rgb = pick_color(r, under)
        things.append(Thing(shape, color, size=r.uniform(7.5, 15) * scale, rgb=rgb))
    k = r.random()
    if k < 0.2:
        things[1].shape = things[0].shape
    elif k < 0.5:
        things[0].shape, things[0].size = r.choice(DIGITS), r.uniform(10, 17) * scale
    return things


def single(r, under, scale):
    color, rgb = pick_color(r, under)
    if r.random() < 0.6:
        return [Thing(r.choice(DIGITS), color, size=r.uniform(11, 30) * scale, rgb=rgb)]
    return [Thing(r.choice(SHAPES), color, size=r.uniform(9, 28) * scale, rgb=rgb)]


def draw(r):
    """A drawing at random. The same state of r gives the same one."""
    while True:
        frame, scale = (0, 0, SIDE, SIDE), SIDE / 80
        if r.random() < 0.4:
            short = SIDE * r.uniform(0.65, 1)
            edge = (SIDE - short) / 2
            frame = (0, edge, SIDE, SIDE - edge) if r.random() < 0.75 else (edge, 0, SIDE - edge, SIDE)
            scale *= math.sqrt(short / SIDE)
        under = background(r)
        k = r.random()
        kind = many if k < 0.48 else few if k < 0.86 else single
        things = kind(r, under, scale)
        for t in things:
            t.turn = tilt(r)
        if place(r, things, frame, kind is many and r.random() < 0.25):
            return Drawing(things, *under, frame, r.uniform(0.7, 1.6), r.choice([0, 0, 2, 4]), r.getrandbits(32))


def stroke(path, x, y):
    """How far each point is from a line through the points of path."""
    near = np.full(x.shape, np.inf, dtype=np.float32)
    for a, b in zip(path, path[1:]):
        along = b - a
        t = np.clip(((x - a[0]) * along[0] + (y - a[1]) * along[1]) / (along @ along), 0, 1)
        near = np.minimum(near, np.hypot(x - a[0] - t * along[0], y - a[1] - t * along[1]))
    return near


def distance(t, x, y):
    """How far outside of the thing each point is, in pixels; negative inside. x and y are relative to its centre."""
    if t.turn:
        c, s = math.cos(t.turn), math.sin(t.turn)
        x, y = c * x + s * y, c * y - s * x
    if t.shape in STROKES:
        return stroke(STROKES[t.shape] * t.size, x, y) - WORLD["pen"] * t.size
    if t.shape == "circle":
        return np.hypot(x, y) - t.size
    if t.shape == "square":
        return np.maximum(np.abs(x), np.abs(y)) - 0.9 * t.size
    y = y - 0.15 * t.size
    return np.maximum(0.866 * np.abs(x) - 0.5 * y, y) - 0.6 * t.size


def paint(d):
    """The pixels, SIDE x SIDE x 3 bytes, and for each pixel the number of the thing on it, from 1 on."""
    out = np.zeros((SIDE, SIDE, 3), dtype=np.float32)
    of = np.zeros((SIDE, SIDE), dtype=np.int64)
    left, top, right, bottom = (round(v) for v in d.frame)
    out[top:bottom, left:right] = d.rgb
    for i, t in enumerate(d.things):
        reach = t.size * 1.5 + 2
        x0, x1 = max(left, int(t.x - reach)), min(right, int(t.x + reach) + 1)
        y0, y1 = max(top, int(t.y - reach)), min(bottom, int(t.y + reach) + 1)
        x = np.arange(x0, x1, dtype=np.float32)[None, :] + 0.5 - t.x
        y = np.arange(y0, y1, dtype=np.float32)[:, None] + 0.5 - t.y
        x, y = np.broadcast_arrays(x, y)
        alpha = np.clip(0.5 - distance(t, x, y) / d.blur, 0, 1)
        part = out[y0:y1, x0:x1]
        part += alpha[..., None] * (np.array(t.rgb, dtype=np.float32) - part)
        of[y0:y1, x0:x1][alpha > 0.5] = i + 1
    if d.noise:
        noise = np.random.default_rng(d.seed).standard_normal(out.shape, dtype=np.float32)
        out[top:bottom, left:right] += d.noise * noise[top:bottom, left:right]
    return np.clip(np.rint(out), 0, 255).astype(np.uint8), of
