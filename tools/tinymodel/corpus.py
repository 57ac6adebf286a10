# SPDX-License-Identifier: MIT
"""Writes the training text of the built-in demonstration model: synthetic chats.

Every sentence is made here from the lists beside this file, so the model's licence is the project's own. The same number
of documents and seed give the same text. Each line of the file is a list of {"role", "content"} messages.
"""
import argparse
import json
import random

from questions import CHITCHAT, FAQ
from words import (ADJ, ANIMALS, BABY, CAPITAL, COLORS, DAYS, FEEL, LESSONS, LISTS, MONTHS, NAMES, NUM, OPPOSITE, PLACES,
                   THINGS, USES)

SYSTEMS = ["You are a helpful assistant.", "You are a friendly assistant. Answer in short sentences.",
           "You are Penstock's demonstration model."]
MORE = ["Tell me another one.", "Another story, please.", "One more!"]
FUNCTIONS = {"add": ("a, b", "return a + b"), "greet": ("name", 'return "Hello, " + name'), "double": ("x", "return 2 * x"),
             "square": ("x", "return x * x"), "hello": ("", 'print("Hello, world!")'), "total": ("items", "return sum(items)")}


def an(word):
    return ("an " if word[0].lower() in "aeiou" else "a ") + word


def cap(text):
    return text[0].upper() + text[1:]


def story(r, hero=None, thing=None):
    """A story of five parts: who, what was wanted, found or lost, what happened, how it ended, what was learned."""
    n, f = r.sample(NAMES, 2)
    a = hero or r.choice(list(ANIMALS))
    t = thing or r.choice(list(THINGS))
    p, q = r.sample(PLACES, 2)
    adj = r.choice(ADJ)
    who = r.choice([f"{an(adj)} {a} named {n}", f"{an(a)} named {n}"])
    start = r.choice([f"Once upon a time there was {who}. {n} lived near the {p}.",
                      f"Long ago, {who} lived by the {p}.",
                      f"In a {p} there lived {who}. Every morning {n} looked for something new."])
    want = r.choice([f"One day {n} found {an(THINGS[t])} {t} near the {q}.",
                     f"One day {n} lost {an(THINGS[t])} {t} in the {q}.",
                     f"One day {n} wanted {an(THINGS[t])} {t} more than anything."])
    middle, end = plot(r, want, n, f, t, p)
    tail = r.choice([f"{n} was {r.choice(FEEL)} and learned that {r.choice(LESSONS)}.",
                     f"From that day on {n} knew that {r.choice(LESSONS)}.",
                     f"{n} and {f} went home, {r.choice(FEEL)} and tired."])
    return " ".join([start, want, middle, end, tail])


def plot(r, want, n, f, t, p):
    if "lost" in want:
        return (r.choice([f"{n} looked everywhere but could not find it. Then a friend named {f} came to help.",
                          f"{n} was sad and sat down. \"Do not cry,\" said {f}. \"We will look together.\""]),
                r.choice([f"They searched until evening and found the {t} under a tree.",
                          f"At last {f} saw the {t} behind a stone."]))
    if "found" in want:
        return (r.choice([f"\"Whose {t} is this?\" asked {n}. A voice said, \"It is mine!\" It was {f}.",
                          f"{n} wanted to keep it, but then {f} came by and looked very sad."]),
                r.choice([f"{n} gave the {t} back, and {f} smiled.", f"They played with the {t} all day and became friends."]))
    return (r.choice([f"{n} asked {f} for help. \"We can make one,\" said {f}.", f"{n} worked hard every day, and {f} helped."]),
            r.choice([f"After three days the {t} was ready.", f"Soon they had the best {t} in the {p}."]))


def turn_story(r):
    k = r.random()
    if k < 0.35:
        ask = r.choice(["Tell me a story.", "Tell me a short story.", "Can you tell me a story?", "I would like to hear a story.",
                        "Write a story."])
        return ask, story(r)
    a, t = r.choice(list(ANIMALS)), r.choice(list(THINGS))
    if k < 0.7:
        ask = r.choice([f"Tell me a story about {an(a)}.", f"Write a short story about {an(a)}.",
                        f"Can you tell a story about {an(a)}?"])
        return ask, story(r, a)
    return r.choice([f"Tell me a story about {an(a)} and {an(t)}.", f"Write a story with {an(a)} and {an(t)}."]), story(r, a, t)


def color(r):
    w, c = r.choice(list(COLORS.items()))
    return (r.choice([f"What color is {w}?", f"Which color does {w} have?"]),
            r.choice([f"{cap(w)} is {c}.", f"The color of {w} is {c}."]))


def opposite(r):
    a, b = r.choice(list(OPPOSITE.items()))
    if r.random() < .5:
        a, b = b, a
    return r.choice([f"What is the opposite of {a}?", f"Tell me the opposite of {a}."]), f"The opposite of {a} is {b}."


def sound(r):
    a, s = r.choice(list(ANIMALS.items()))
    return r.choice([f"What does {an(a)} say?", f"What sound does {an(a)} make?"]), f"{cap(an(a))} says {s}."


def baby(r):
    a, s = r.choice(list(BABY.items()))
    return r.choice([f"What is a baby {a} called?", f"What do you call a baby {a}?"]), f"A baby {a} is called {an(s)}."


def capital(r):
    c, city = r.choice(list(CAPITAL.items()))
    return (r.choice([f"What is the capital of {c}?", f"Which city is the capital of {c}?"]), f"The capital of {c} is {city}.")


def arithmetic(r):
    a, b = r.randrange(0, 11), r.randrange(0, 11)
    if r.random() < .5:
        return r.choice([f"What is {a} plus {b}?", f"How much is {a} + {b}?"]), f"{a} plus {b} is {a + b}."
    a, b = max(a, b), min(a, b)
    return r.choice([f"What is {a} minus {b}?", f"How much is {a} - {b}?"]), f"{a} minus {b} is {a - b}."


def day(r):
    i = r.randrange(7)
    if r.random() < .5:
        return f"Which day comes after {DAYS[i]}?", f"{DAYS[(i + 1) % 7]} comes after {DAYS[i]}."
    return f"Which day comes before {DAYS[i]}?", f"{DAYS[(i - 1) % 7]} comes before {DAYS[i]}."


def month(r):
    i = r.randrange(12)
    return f"Which month comes after {MONTHS[i]}?", f"{MONTHS[(i + 1) % 12]} comes after {MONTHS[i]}."


def count(r):
    n = r.randrange(3, 11)
    return r.choice([f"Count to {n}.", f"Please count to {NUM[n]}."]), ", ".join(str(i) for i in range(1, n + 1)) + "."


def use(r):
    o, u = r.choice(list(USES.items()))
    return r.choice([f"What is {an(o)} for?", f"What can I do with {an(o)}?"]), f"You can use {an(o)} to {u}."


def spelling(r):
    i = r.randrange(21)
    return f"How do you spell the number {i}?", f"The number {i} is spelled {NUM[i]}."


FACTS = [color, opposite, sound, baby, capital, arithmetic, arithmetic, day, month, count, use, spelling]


def turn_fact(r):
    return FACTS[r.randrange(len(FACTS))](r)


def turn_list(r):
    kind = r.choice(list(LISTS))
    n = r.randrange(2, 6)
    items = r.sample(LISTS[kind], n)
    ask = r.choice([f"Name {NUM[n]} {kind}.", f"List {NUM[n]} {kind}.", f"Give me {NUM[n]} {kind}."])
    if r.random() < .5:
        return ask, "\n".join(f"{i + 1}. {x}" for i, x in enumerate(items))
    return ask, "\n".join(f"- {x}" for x in items)


def turn_json(r):
    a, n = r.choice(list(ANIMALS)), r.choice(NAMES)
    c = r.choice("red blue green white black brown gray".split())
    obj = {"name": n, "kind": a, "age": r.randrange(1, 12), "color": c}
    if r.random() < .3:
        del obj["color"]
    ask = r.choice([f"Describe {an(a)} as JSON.", f"Give me a JSON object for {an(a)}.", f"Write {an(a)} named {n} in JSON."])
    return ask, json.dumps(obj)


def turn_code(r):
    name = r.sample(list(FUNCTIONS), 2)[0]
    parameters, body = FUNCTIONS[name]
    return f"Write a Python function named {name}.", f"```python\ndef {name}({parameters}):\n    {body}\n```"


def turn_faq(r):
    asks, answers = r.choice(FAQ)
    return r.choice(asks), r.choice(answers)


def turn_chat(r):
    asks, answers = r.choice(CHITCHAT)
    return r.choice(asks), r.choice(answers)


TURNS = [turn_story, turn_fact, turn_list, turn_json, turn_code, turn_faq, turn_chat]
WEIGHTS = [30, 30, 10, 6, 3, 13, 8]


def document(r):
    """One chat of one to four turns, some with a system message, lower case or missing punctuation."""
    messages = []
    if r.random() < .35:
        messages.append({"role": "system", "content": r.choice(SYSTEMS)})
    for _ in range(1 if r.random() < .55 else r.randrange(2, 5)):
        turn = r.choices(TURNS, WEIGHTS)[0]
        ask, answer = turn(r)
        if r.random() < .08:
            ask = ask.lower()
        if r.random() < .05:
            ask = ask.rstrip(".?!")
        messages += [{"role": "user", "content": ask}, {"role": "assistant", "content": answer}]
        if turn is turn_story and r.random() < .3:
            messages += [{"role": "user", "content": r.choice(MORE)}, {"role": "assistant", "content": story(r)}]
    return messages


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("out", help="file to write, JSON lines")
    args.add_argument("--documents", type=int, default=60000)
    args.add_argument("--seed", type=int, default=1)
    args = args.parse_args()
    r = random.Random(args.seed)
    with open(args.out, "w", encoding="utf-8") as out:
        for _ in range(args.documents):
            out.write(json.dumps(document(r)) + "\n")


if __name__ == "__main__":
    main()
