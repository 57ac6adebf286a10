# SPDX-License-Identifier: MIT
"""Rows of tokens for the joint training: chats about drawings, and chats of the text model's own corpus."""
import math

import numpy as np
import torch

import corpus
from asking import ask
from bpe import END, START, WORD
from tower import TOKENS

ROW = 104  # tokens
PICTURE = -1  # a token whose embedding comes from the tower
KEY = 3.0  # how much more a word counts that says what was seen
TALK = 0.3  # how much a token of the text corpus counts
NOTHING = "I see no picture. Please add one."


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
    keys, ids, weights = set(key.split()), [], []
    for word in WORD.findall(answer):
        part = tok.encode(word)
        ids += part
        weights += [KEY if word.strip() in keys or word.strip().lower() in keys else 1.0] * len(part)
    return ids, weights


def answered(tok, row, answer, key):
    row.add([END, *tok.encode("\n"), START, *tok.encode("assistant\n")])
    row.add(*weighed(tok, answer, key))
    row.add([END], 1.0)
    row.add(tok.encode("\n"))


def begin(tok, r, row):
    if r.random() < 0.15:
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
    gap, shared = r.choice(["\n", "\n", ""]), row.next
    while len(row.ids) < ROW:
        row.branch, row.next = row.branch + 1, shared
        before = len(row.ids)
        question, answer, key = ask(r, drawing)
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


class Talk:
    """An endless text of chats."""

    def __init__(self, tok, r):
        self.tok, self.r, self.rest = tok, r, []

    def row(self):
        while len(self.rest) < ROW:
            self.rest += self.tok.chat(corpus.document(self.r))
        row = Row()
        row.add(self.rest[:ROW], TALK)
        self.rest = self.rest[ROW:]
        return row


def lessons(tok, r, talk, drawings, talks):
    """A batch: two rows in three of branches, one of turns, and rows without a picture."""
    rows = []
    for i, d in enumerate(drawings):
        j = (i + 1) % len(drawings)
        rows.append(branches(tok, r, d, i) if r.random() < 0.65 else turns(tok, r, d, i, drawings[j], j))
    for i in range(talks):
        rows.append(blind(tok, r, drawings[i]) if r.random() < 0.12 else talk.row())
    return collate(rows)


def collate(rows):
    """ids, positions, mask, weights of what follows each token, and where pictures stand as (row, place, number)."""
    b = len(rows)
    ids, positions, branch = (np.zeros((b, ROW), dtype=np.int64) for _ in range(3))
    weights = np.zeros((b, ROW), dtype=np.float32)
    places = []
    for i, row in enumerate(rows):
        row.cut(ROW)
        n = len(row.ids)
        ids[i, :n], positions[i, :n], branch[i, :n], weights[i, :n] = row.ids, row.positions, row.branches, row.weights
        places += [(i, at, number) for at, number in row.pictures]
    sees = (branch[:, None, :] == 0) | (branch[:, None, :] == branch[:, :, None])
    sees &= np.tri(ROW, dtype=bool)[None]
    mask = torch.from_numpy(np.where(sees, np.float32(0), np.float32(-math.inf)))[:, None]
    return torch.from_numpy(ids), torch.from_numpy(positions)[:, None], mask, torch.from_numpy(weights), places
