# SPDX-License-Identifier: MIT
"""Questions about a drawing with their answers. The word of an answer that says what was seen is the one that counts."""
from collections import Counter

from drawings import COLORS, NUMBERS, SHAPES, SIDE

DESCRIBE = ["What is in the picture?", "What do you see?", "What do you see in this picture?", "Describe the picture.", "What is this?",
            "Describe this image.", "What is in this image?", "What does the picture show?", "What is shown here?", ""]


def an(word):
    return ("an " if word[0] in "aeiou" else "a ") + word


def cap(text):
    return text[0].upper() + text[1:]


def plural(n, name):
    return name if n == 1 else name + "s"


def colored(r, name):
    """Either spelling."""
    return name.replace("color", "colour") if r.random() < 0.4 else name


def shapes(d):
    return [t for t in d.things if t.shape in SHAPES]


def named(things):
    """Names by which exactly one thing is meant, as (name, thing)."""
    kinds, names = Counter(t.shape for t in things), Counter(t.name for t in things)
    return [(t.shape, t) for t in things if kinds[t.shape] == 1] + [(t.name, t) for t in things if names[t.name] == 1]


def count(r, d):
    """How many there are of a shape, of a colour, of both, or of all."""
    things, k = shapes(d), r.random()
    if not things:
        return None
    if k < 0.6:
        name = r.choice(things).shape if r.random() < 0.85 else r.choice(SHAPES)
        n, name = sum(t.shape == name for t in things), name
    elif k < 0.75:
        color = r.choice(things).color if r.random() < 0.8 else r.choice(COLORS)
        n, name = sum(t.color == color for t in things), color + " shape"
    elif k < 0.88:
        name = r.choice(things).name
        n = sum(t.name == name for t in things)
    else:
        n, name = len(things), "shape"
    ask = r.choice(["How many {} are there?", "How many {} are there?", "How many {} do you see?", "How many {} are in the picture?", "How many {} can you see?",
                    "Count the {}.", "How many {}?", "How many {} are in this picture?"]).format(name + "s")
    return ask, f"There {'is' if n == 1 else 'are'} {NUMBERS[n]} {plural(n, name)}.", NUMBERS[n]


def color_of(r, d):
    """The colour of the only shape of a kind, or of all of that kind if they have one."""
    things = shapes(d)
    if not things:
        digit = d.things[0]
        ask = r.choice(["What color is the digit?", "What color is the number?", f"What color is the {digit.shape}?"])
        return colored(r, ask), f"The digit is {digit.color}.", digit.color
    shape = r.choice(things).shape
    of = [t for t in things if t.shape == shape]
    if len({t.color for t in of}) > 1:
        return None
    color, name, verb = of[0].color, plural(len(of), shape), "is" if len(of) == 1 else "are"
    ask = r.choice(["What color {v} the {n}?", "What color {v} the {n}?", "Which color {v} the {n}?", "Which color does the {s} have?",
                    "What is the color of the {n}?", "Tell me the color of the {n}."])
    return colored(r, ask.format(v=verb, n=name, s=shape)), f"The {name} {verb} {color}.", color


def side(r, d):
    """Left or right, above or below."""
    names = named(shapes(d))
    if not names:
        return None
    (a, t), (b, o) = r.choice(names), r.choice(names)
    across = r.random() < 0.65
    far = t.x - o.x if across else t.y - o.y
    if t is o or abs(far) < 0.06 * SIDE:
        return None
    first, second = ("left", "right") if across else ("above", "below")
    answer = first if far < 0 else second
    if r.random() < 0.3:
        first, second = second, first
    of = " of" if across else ""
    ask = r.choice(["Is the {a} {f} or {s}{of} the {b}?", "Is the {a} {f} or {s}{of} the {b}?", "Is the {a} to the {f} or to the {s} of the {b}?",
                    "Where is the {a}, {f} or {s}{of} the {b}?"])
    if not across:
        ask = ask.replace("to the ", "").replace(f"{{s}} of", "{s}")
    return ask.format(a=a, b=b, f=first, s=second, of=of), f"The {a} is {answer}{of} the {b}.", answer


def which_digit(r, d):
    t = d.things[0]
    if t.shape in SHAPES:
        return None
    ask = r.choice(["Which digit is in the picture?", "Which digit is this?", "What number is this?", "Which number do you see?", "What digit do you see?",
                    "Which digit do you see?", "Which number is in the picture?", "Read the digit."])
    return ask, f"The digit is {t.shape}.", t.shape


def describe(r, d):
    """Groups of what is alike, from left to right."""
    groups = Counter()
    for t in sorted(d.things, key=lambda t: t.x):
        groups[t.name if t.shape in SHAPES else f"{t.color} digit {t.shape}"] += 1
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


def there(r, d):
    """Yes or no."""
    things = shapes(d)
    have = {t.shape for t in things} | {t.name for t in things}
    name = r.choice(SHAPES)
    if r.random() < 0.5:
        name = r.choice(COLORS) + " " + name
    if have and r.random() < 0.5:
        name = r.choice(sorted(have))
    ask = r.choice(["Is there {}?", "Do you see {}?", "Is there {} in the picture?", "Can you see {}?"]).format(an(name))
    if name in have:
        return ask, f"Yes, there is {an(name)}.", "Yes"
    return ask, f"No, there is no {name}.", "No"


def which_shape(r, d):
    """The shape that alone has a colour."""
    colors = Counter(t.color for t in d.things)
    alone = [t for t in shapes(d) if colors[t.color] == 1]
    if not alone:
        return None
    t = r.choice(alone)
    if len(d.things) == 1 and r.random() < 0.5:
        return r.choice(["Which shape is this?", "What shape is this?", "Which shape do you see?"]), f"It is {an(t.shape)}.", t.shape
    return r.choice(["Which shape is {}?", "What shape is {}?", "What is {}?"]).format(t.color), f"The {t.color} shape is {an(t.shape)}.", t.shape


def bigger(r, d):
    names = named(shapes(d))
    if not names:
        return None
    (a, t), (b, o) = r.choice(names), r.choice(names)
    if t is o or max(t.size, o.size) < 1.35 * min(t.size, o.size):
        return None
    answer = "bigger" if t.size > o.size else "smaller"
    return f"Is the {a} bigger or smaller than the {b}?", f"The {a} is {answer} than the {b}.", answer


KINDS = {"how many": (count, 30), "color": (color_of, 18), "side": (side, 24), "digit": (which_digit, 14), "describe": (describe, 14), "background": (paper, 5),
         "there": (there, 7), "which shape": (which_shape, 7), "bigger": (bigger, 6)}


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
