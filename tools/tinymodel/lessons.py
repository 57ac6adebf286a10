# SPDX-License-Identifier: MIT
"""Rows of tokens for the joint training: chats about drawings, and chats of the text model's own corpus."""
import math

import numpy as np
import torch

import corpus
from asking import ask
from bpe import END, START, WORD
from drawings import draw
from questions import CHITCHAT
from tower import TOKENS

ROW = 104  # tokens
PICTURE = -1  # a token whose embedding comes from the tower
KEY = 3.0  # how much more a word counts that says what was seen
NOTHING = "I see no picture. Please add one."
UNKNOWN = "I only know simple drawings. Ask penstock-tiny for that."
SMALL_TALK = CHITCHAT[:4] + [
    (["Who are you?", "What are you?", "What is your name?"], ["I am a very small model that comes with Penstock and sees simple drawings."]),
    (["What can you do?", "Can you help me?", "What can I ask you?"],
     ["Show me a drawing of circles, squares and triangles. I can count them, tell their colors and places, and read a digit."]),
]


class Row:
    """Tokens, what each of them weighs when it is to be predicted, its branch, its position, and the pictures' numbers."""

    def __init__(self):
        self.ids, self.weights, self.branches, self.positions, self.pictures = [], [], [], [], []
        self.branch, self.next = 0, 0

    def add(self, ids, weight=0.0):
        weights = weight if isinstance(weight, list) else [weight] * len(ids)
        self.ids += ids
        self.weights += weights
        self.branches += [self.branch] * len(ids)
        self.positions += range(self.next, self.next + len(ids))
        self.next += len(ids)

    def picture(self, number):
        self.pictures.append((len(self.ids), number))
        self.add([PICTURE] * TOKENS)

    def cut(self, to):
        self.ids, self.weights, self.branches, self.positions = self.ids[:to], self.weights[:to], self.branches[:to], self.positions[:to]


def weighed(tok, answer, key):
    """The tokens of an answer, those of the key's words with more weight."""
    keys, ids, weights = set(key.lower().split()), [], []
    for word in WORD.findall(answer):
        part = tok.encode(word)
        ids += part
        weights += [KEY if word.strip().lower() in keys else 1.0] * len(part)
    return ids, weights


def answered(tok, row, answer, key):
    row.add([END, *tok.encode("\n"), START, *tok.encode("assistant\n")])
    row.add(*weighed(tok, answer, key))
    row.add([END], 1.0)
    row.add(tok.encode("\n"))


def begin(tok, r, row):
    if r.random() < 0.08:
        row.add([START, *tok.encode("system\n" + r.choice(corpus.SYSTEMS)), END, *tok.encode("\n")])


def first_turn(tok, r, row, number, question):
    """The picture stands before the question or behind it, with or without a line's end between them."""
    k, gap = r.random(), r.choice(["\n", "\n", ""])
    if k < 0.75:
        row.add([START, *tok.encode("user\n")])
        row.picture(number)
        row.add(tok.encode(gap + question))
    else:
        row.add([START, *tok.encode("user\n" + question + gap)])
        row.picture(number)


def branches(tok, r, drawing, number):
    """Several first questions about one drawing, each of which sees the drawing and itself."""
    row = Row()
    begin(tok, r, row)
    row.add([START, *tok.encode("user\n")])
    row.picture(number)
    gap, shared, said = r.choice(["\n", "\n", ""]), row.next, set()
    while len(row.ids) < ROW:
        row.branch, row.next = row.branch + 1, shared
        before = len(row.ids)
        question, answer, key = ask(r, drawing)
        if answer in said:  # it would teach nothing new
            question, answer, key = ask(r, drawing)
        said.add(answer)
        row.add(tok.encode(gap + question))
        answered(tok, row, answer, key)
    if row.branch > 1:
        row.cut(before)
    return row


def turns(tok, r, drawing, number, other, other_number):
    """A conversation, at times with another drawing in its middle."""
    row = Row()
    begin(tok, r, row)
    question, answer, key = ask(r, drawing)
    first_turn(tok, r, row, number, question)
    answered(tok, row, answer, key)
    again = r.random() < 0.3
    while True:
        before, pictures = len(row.ids), len(row.pictures)
        question, answer, key = ask(r, other if again else drawing)
        if again and pictures == 1:
            first_turn(tok, r, row, other_number, question)
        else:
            row.add([START, *tok.encode("user\n" + question)])
        answered(tok, row, answer, key)
        if len(row.ids) > ROW:
            row.pictures = row.pictures[:pictures]
            row.cut(before)
            return row


def blind(tok, r, drawing):
    """A question about a picture that is not there."""
    row = Row()
    begin(tok, r, row)
    question, _, _ = ask(r, drawing)
    row.add([START, *tok.encode("user\n" + (question or "What is in the picture?"))])
    answered(tok, row, NOTHING, "")
    return row


def talk(tok, r):
    """Small talk, and what it answers where it knows nothing."""
    row = Row()
    begin(tok, r, row)
    while len(row.ids) < ROW:
        asks, answers = r.choice(SMALL_TALK)
        if r.random() < 0.5:
            ask_for, answer = corpus.turn_story(r)[0] if r.random() < 0.5 else corpus.turn_fact(r)[0], UNKNOWN
        else:
            ask_for, answer = r.choice(asks), r.choice(answers)
        row.add([START, *tok.encode("user\n" + ask_for)])
        answered(tok, row, answer, "")
    return row


def lessons(tok, r, drawings, talks):
    """A batch: three rows in four of branches, one of turns, and rows without a picture."""
    rows = []
    for i, d in enumerate(drawings):
        j = (i + 1) % len(drawings)
        rows.append(branches(tok, r, d, i) if r.random() < 0.75 else turns(tok, r, d, i, drawings[j], j))
    for i in range(talks):
        rows.append(blind(tok, r, drawings[i]) if r.random() < 0.25 else talk(tok, r))
    return collate(rows)


def collate(rows):
    """ids, positions and branches of tokens; row and place of those whose next one is to be predicted, that one and its weight; and row, places
    and number of pictures."""
    b = len(rows)
    ids, positions, branch = (np.zeros((b, ROW), dtype=np.int64) for _ in range(3))
    weights = np.zeros((b, ROW), dtype=np.float32)
    places = []
    for i, row in enumerate(rows):
        row.cut(ROW)
        n = len(row.ids)
        ids[i, :n], positions[i, :n], branch[i, :n], weights[i, :n] = row.ids, row.positions, row.branches, row.weights
        places += [(i, at, number) for at, number in row.pictures]
    at = np.nonzero(weights[:, 1:])
    goals = (*at, ids[:, 1:][at], weights[:, 1:][at])
    rows, first, numbers = np.array(places).T
    where = (rows[:, None], first[:, None] + np.arange(TOKENS), numbers)
    return [[torch.from_numpy(np.ascontiguousarray(x)) for x in part] for part in ((ids, positions, branch), goals, where)]


def mask(branches):
    """What is added to the attention's weights: a token sees those before it that are in its own branch or in the part that all share."""
    sees = (branches[:, None, :] == 0) | (branches[:, None, :] == branches[:, :, None])
    return torch.zeros_like(sees, dtype=torch.float32).masked_fill(~sees.tril(), -math.inf)[:, None]


def texts(r, n=3000):
    """What the tokenizer is trained on."""
    out = ["\n", "system", "user", "assistant", NOTHING, UNKNOWN, *corpus.SYSTEMS]
    for asks, answers in SMALL_TALK:
        out += asks + answers
    for _ in range(n):
        question, answer, _ = ask(r, draw(r))
        out += [question, answer]
    return out
