# SPDX-License-Identifier: MIT
"""Trains the built-in model that sees and writes it as two GGUF files.

First the tower learns what is on drawings by heads that are thrown away, then tower and text model learn to answer together.
"""
import argparse
import math
import os
import random
import time

import numpy as np
import torch
from torch.nn import functional

from asking import KINDS, ask
from bpe import END, START, Tokenizer, Trained
from drawings import draw
from export import write_model
from lessons import lessons, texts
from looking import Looking, batch
from muon import Optimizer
from network import Model, Shape
from tower import Tower, write_tower

HALF = torch.autocast("cpu", dtype=torch.bfloat16)  # products of matrices, twice as fast on processors that have them
LOOKS, PICTURES, TALKS = 32, 32, 3  # drawings in a step of looking; drawings and chats without one in a step of answering
SHAPE = Shape(vocab=640, dim=96, layers=4, heads=3, kv_heads=3, ffn=256)


@torch.no_grad()
def begin(model):
    """Weights of the size with which Muon learns fast."""
    model.embed.weight.normal_(std=0.1)
    for block in model.blocks:
        for m in (block.q, block.k, block.v, block.o, block.gate, block.up, block.down):
            m.weight.normal_(std=(0.3 if m in (block.o, block.down) else 1) / math.sqrt(m.in_features))


def rate(step, done, warm_up=50):
    """The part of the highest learning rate: it rises, stays, and falls in the last half. done is the part that is over."""
    return min(1, (step + 1) / warm_up, 0.02 + 2 * (1 - done))


class Clock:
    """Prints means of what is told, every so many steps."""

    def __init__(self, every):
        self.every, self.rows, self.start = every, [], time.time()

    def tell(self, step, *numbers):
        self.rows.append(numbers)
        if (step + 1) % self.every == 0:
            mean = " ".join(f"{x:.3f}" for x in np.nanmean(np.array(self.rows, dtype=float), 0))
            print(f"{step + 1}: {mean}  {time.time() - self.start:.0f} s, {time.process_time():.0f} s of CPU", flush=True)
            self.rows = []


def look(tower, looking, r, args, save):
    """The first part. Prints the loss and shares of what is right."""
    opt, clock = Optimizer([(tower, args.peak, 1e-3), (looking, 0, 2e-3)], [tower.patch, looking]), Clock(50)
    for step in range(args.looks):
        pixels, marks = batch([draw(r) for _ in range(LOOKS)])
        with HALF:
            patches, pictures = tower(pixels)
        loss, right = looking(patches.float(), pictures.float(), marks)
        opt.step(loss, rate(step, step / args.looks))
        clock.tell(step, loss.item(), *right)
        if (step + 1) % 100 == 0 or step + 1 == args.looks:
            save()


def embedded(model, ids, places, pictures):
    """What the text model reads: its own embeddings, and the tower's where pictures stand."""
    x = model.embed(ids.clamp(min=0))
    rows = torch.tensor([row for row, _, _ in places])[:, None]
    columns = torch.tensor([at for _, at, _ in places])[:, None] + torch.arange(pictures.shape[1])
    return x.index_put((rows, columns), pictures[torch.tensor([number for _, _, number in places])])


def answer(tower, looking, model, tok, r, args, save):
    """The second part. Prints the losses of answers and of looking, and the share of words that count that are right."""
    opt = Optimizer([(tower, args.peak / 2, 5e-4), (looking, 0, 1e-3), (model, args.peak, 3e-3)], [tower.patch, looking])
    clock, step = Clock(20), 0
    while (done := step / args.steps if args.steps else (time.time() - clock.start) / (60 * args.minutes)) < 1:
        drawings = [draw(r) for _ in range(PICTURES)]
        pixels, marks = batch(drawings)
        with HALF:
            patches, pictures = tower(pixels)
        seen, right = looking(patches.float(), pictures.float(), marks)
        ids, positions, mask, weights, places = lessons(tok, r, drawings, TALKS)
        x = embedded(model, ids, places, pictures.float())
        with HALF:
            out = model.read(x, positions, mask)
            at = (weights[:, 1:] > 0).nonzero(as_tuple=True)
            logits, wanted, weight = (out[:, :-1][at] @ model.embed.weight.T).float(), ids[:, 1:][at], weights[:, 1:][at]
        loss = (functional.cross_entropy(logits, wanted, reduction="none") * weight).sum() / weight.sum()
        opt.step(loss + 0.5 * seen, rate(step, done))
        keys = weight > 1
        clock.tell(step, loss.item(), seen.item(), (logits.argmax(-1) == wanted)[keys].float().mean().item(), *right)
        step += 1
        if step % 50 == 0:
            save()


@torch.no_grad()
def reply(tower, model, tok, drawing, question, most=40):
    """The greedy answer to a question about a drawing."""
    _, picture = tower(batch([drawing])[0])
    before, after = [START, *tok.encode("user\n")], [*tok.encode("\n" + question), END, *tok.encode("\n"), START, *tok.encode("assistant\n")]
    x = torch.cat([model.embed(torch.tensor(before))[None], picture, model.embed(torch.tensor(after))[None]], 1)
    out = []
    while len(out) < most:
        t = x.shape[1]
        token = (model.read(x, torch.arange(t), torch.full((t, t), float("-inf")).triu(1))[0, -1] @ model.embed.weight.T).argmax().item()
        if token == END:
            break
        out.append(tok.tokens[token])
        x = torch.cat([x, model.embed(torch.tensor([[token]]))], 1)
    return "".join(out).replace("Ġ", " ").replace("Ċ", "\n")


def examine(tower, model, tok, seed, n):
    """Prints the share of right answers of each kind to drawings that were not trained on, and some that are wrong."""
    for kind in KINDS:
        r, right, asked, wrong = random.Random(f"{seed} {kind}"), 0, 0, []
        while asked < n:
            drawing = draw(r)
            found = ask(r, drawing, kind)
            if not found or not found[0]:
                continue
            asked += 1
            got = reply(tower, model, tok, drawing, found[0])
            if got == found[1]:
                right += 1
            else:
                wrong.append((found[0], found[1], got))
        print(f"{kind}: {right} of {n}; {wrong[:3]}", flush=True)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("out", help="GGUF file of the text model to write; that of the projector has mmproj- before its name")
    args.add_argument("--looks", type=int, default=4000, help="steps in which the tower learns to see")
    length = args.add_mutually_exclusive_group()
    length.add_argument("--steps", type=int, help="steps in which both learn to answer: gives the same model again on the same machine")
    length.add_argument("--minutes", type=float, default=60, help="instead of steps")
    args.add_argument("--peak", type=float, default=0.02, help="highest learning rate of matrices")
    args.add_argument("--threads", type=int, default=2)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--state", help="file with what was learned, to go on from and to write")
    args.add_argument("--examine", type=int, default=100, help="held-out questions of each kind at the end")
    args = args.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    small = Tokenizer(texts(random.Random(args.seed)), SHAPE.vocab)
    tok, model = Trained(small.tokens, small.merges), Model(SHAPE)
    begin(model)
    tower, looking = Tower(SHAPE.dim), Looking(SHAPE.dim)
    parts = {"tower": tower, "looking": looking, "model": model}
    if args.state and os.path.exists(args.state):
        state = torch.load(args.state)
        tok = Trained(*state.pop("words", (tok.tokens, tok.merges)))
        for name, part in state.items():
            parts[name].load_state_dict(part, strict=name != "looking")
    else:
        tower.whiten(batch([draw(random.Random(i)) for i in range(400)])[0])

    def save():
        if args.state:
            torch.save({"words": (tok.tokens, tok.merges)} | {name: part.state_dict() for name, part in parts.items()}, args.state)
        write_model(args.out, tok, model, "Penstock Tiny Vision", "A toy chat model that sees simple drawings, for demonstrations and tests.")
        folder, name = os.path.split(args.out)
        write_tower(os.path.join(folder, "mmproj-" + name), tower, SHAPE.dim)

    print(f"{len(tok.tokens)} tokens, {sum(p.numel() for p in tower.parameters())} parameters see, {sum(p.numel() for p in model.parameters())} answer", flush=True)
    if args.looks:
        look(tower, looking, random.Random(f"look {args.seed}"), args, save)
    if args.steps != 0:
        answer(tower, looking, model, tok, random.Random(f"answer {args.seed}"), args, save)
    save()
    examine(tower, model, tok, f"examine {args.seed}", args.examine)


if __name__ == "__main__":
    main()
