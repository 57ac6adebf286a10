# SPDX-License-Identifier: MIT
"""Questions about a drawing with their answers. The word of an answer that says what was seen is the one that counts."""
from collections import Counter

from drawings import DIGITS, NUMBERS, SHAPES, SIDE

DESCRIBE = ["What is in the picture?", "What do you see?", "What do you see in this picture?", "Describe the picture.", "What is this?",
            "Describe this image.", "What is in this image?", "What does the picture show?", "What is shown here?", ""]


APART = 0.12  # of the side, that things are apart of which one is left of the other


def an(word):
    return ("an " if word[0] in "aeiou8" else "a ") + word


def cap(text):
    return text[0].upper() + text[1:]


def plural(n, name):
    return name if n == 1 else name + "s"


def colored(r, name):
    """Either spelling."""
    return name.replace("color", "colour") if r.random() < 0.4 else name


def named(things):
    """Names by which exactly one thing is meant, as (name, thing)."""
    kinds, names = Counter(t.shape for t in things), Counter(t.name for t in things)
    return [(t.shape, t) for t in things if kinds[t.shape] == 1] + [(t.name, t) for t in things if names[t.name] == 1]


def count(r, d):
    """How many there are of a shape, or of all."""
    shapes = [t for t in d.things if t.shape in SHAPES]
    if r.random() < 0.15:
        name, n = "shape", len(shapes)
    else:
        name = r.choice(shapes).shape if shapes and r.random() < 0.93 else r.choice(SHAPES)
        n = sum(t.shape == name for t in d.things)
    ask = r.choice(["How many {} are there?", "How many {} are there?", "How many {} do you see?", "How many {} are in the picture?", "How many {} can you see?",
                    "Count the {}.", "How many {}?", "How many {} are in this picture?"]).format(name + "s")
    return ask, f"There {'is' if n == 1 else 'are'} {NUMBERS[n]} {plural(n, name)}.", NUMBERS[n]


def color_of(r, d):
    """The colour of the only shape of a kind, or of all of that kind if they have one."""
    shape = r.choice(d.things).shape
    of = [t for t in d.things if t.shape == shape]
    if len({t.color for t in of}) > 1:
        return None
    color, name, verb = of[0].color, plural(len(of), shape), "is" if len(of) == 1 else "are"
    ask = r.choice(["What color {v} the {n}?", "What color {v} the {n}?", "Which color {v} the {n}?", "Which color does the {s} have?",
                    "What is the color of the {n}?", "Tell me the color of the {n}."])
    return colored(r, ask.format(v=verb, n=name, s=shape)), f"The {name} {verb} {color}.", color


def two(r, d):
    """Two things that can be named, or None."""
    names = named(d.things)
    if len(names) < 2:
        return None
    (a, t), (b, o) = r.sample(names, 2)
    return None if t is o else (a, t, b, o)


def compared(r, a, b, words, between, answer):
    """The question which of two words says how a stands to b, and its answer."""
    first, second = words if r.random() < 0.7 else words[::-1]
    ask = r.choice(["Is the {a} {f} or {s}{of} the {b}?", "Is the {a} {f} or {s}{of} the {b}?", "Where is the {a}, {f} or {s}{of} the {b}?"])
    return ask.format(a=a, b=b, f=first, s=second, of=between), f"The {a} is {answer}{between} the {b}.", answer


def side(r, d):
    """Left or right."""
    found = two(r, d)
    if not found or abs(found[1].x - found[3].x) < APART * SIDE:
        return None
    a, t, b, o = found
    answer = "left" if t.x < o.x else "right"
    return compared(r, a, b, ("left", "right"), " of", answer)


def height(r, d):
    """Above or below."""
    found = two(r, d)
    if not found or abs(found[1].y - found[3].y) < APART * SIDE:
        return None
    a, t, b, o = found
    return compared(r, a, b, ("above", "below"), "", "above" if t.y < o.y else "below")


def digit(r, d):
    """Which digit there is, if it is the only one."""
    of = [t for t in d.things if t.shape in DIGITS]
    if len(of) != 1:
        return None
    ask = r.choice(["What digit is it?", "Which digit is this?", "What number is this?", "Which number do you see?", "What digit is in the picture?", "Read the digit."])
    return ask, f"It is {an(of[0].shape)}.", of[0].shape


def describe(r, d):
    """Groups of what is alike, from left to right."""
    groups = Counter()
    for t in sorted(d.things, key=lambda t: t.x):
        groups[t.name] += 1
    if len(groups) > 3:
        groups = Counter()
        for t in sorted(d.things, key=lambda t: t.x):
            groups[t.shape] += 1
    parts = [an(name) if n == 1 else f"{NUMBERS[n]} {plural(n, name)}" for name, n in groups.items()]
    text = " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)
    return r.choice(DESCRIBE), cap(text) + ".", text


def paper(r, d):
    if not d.background:
        return None
    return (colored(r, r.choice(["What color is the background?", "Which color does the background have?", "What is the color of the background?"])),
            f"The background is {d.background}.", d.background)


KINDS = {"how many": (count, 28), "what color": (color_of, 14), "left or right": (side, 30), "above or below": (height, 10), "what digit": (digit, 30),
         "describe": (describe, 6), "background": (paper, 4)}


def ask(r, d, kind=None):
    """A question of a kind or of any: (question, answer, what counts), or None where the drawing gives none of that kind."""
    if kind:
        return KINDS[kind][0](r, d)
    while True:
        kind = r.choices(list(KINDS), [w for _, w in KINDS.values()])[0]
        found = KINDS[kind][0](r, d)
        if found:
            return careless(r, found)


def careless(r, found):
    question, answer, key = found
    if r.random() < 0.08:
        question = question.lower()
    if r.random() < 0.06:
        question = question.rstrip(".?")
    return question, answer, key
