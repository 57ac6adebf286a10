# SPDX-License-Identifier: MIT
"""Trains the built-in model that sees and writes it as two GGUF files.

First the tower learns what is on drawings by heads that are thrown away, then tower and text model learn to answer together.
"""
import argparse
import contextlib
import math
import os
import random
import time

import torch
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from asking import KINDS, ask
from bpe import END, START, Tokenizer, Trained
from drawings import draw
from export import write_model
from lessons import lessons, mask, texts
from looking import Looking, batch
from muon import Optimizer
from network import Model, Shape
from tower import Tower, write_tower

LOOK = 0.2  # the part of the training in which the tower only learns to see
TALKS = 0.1  # chats without a drawing, for each drawing
SHAPE = Shape(vocab=640, dim=96, layers=6, heads=3, kv_heads=3, ffn=256)


class Drawings(Dataset):
    """Batches of drawings by number: pixels, marks and, with a tokenizer, lessons. A number's batch is the same whoever makes it."""

    def __init__(self, seed, size, tok=None):
        self.seed, self.size, self.tok = seed, size, tok

    def __len__(self):
        return 1 << 40

    def __getitem__(self, number):
        torch.set_num_threads(1)
        r = random.Random(f"{self.seed} {number}")
        drawings = [draw(r) for _ in range(self.size)]
        return (*batch(drawings), *(lessons(self.tok, r, drawings, round(TALKS * self.size)) if self.tok else ()))


class InOrder:
    """Numbers from 0 on, without end."""

    def __iter__(self):
        return iter(range(1 << 40))


def batches(args, name, tok=None):
    """Batches from as many processes, on the device."""
    drawings = Drawings(f"{name} {args.seed}", args.batch, tok)
    more = {"prefetch_factor": 4, "multiprocessing_context": "fork"} if args.workers else {}
    for made in DataLoader(drawings, batch_size=None, sampler=InOrder(), num_workers=args.workers, **more):
        yield [moved(part, args.device) for part in made]


def moved(part, device):
    return [moved(p, device) for p in part] if isinstance(part, (list, tuple)) else part.to(device, non_blocking=True)


def half(args):
    """Products of matrices in 16 bits, twice as fast on processors that have them."""
    return torch.autocast("cpu", dtype=torch.bfloat16) if args.device == "cpu" else contextlib.nullcontext()


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
    """How much of a part of the training is over, by steps or by time. It prints means of what it is told."""

    def __init__(self, args, share):
        self.steps, self.seconds = args.steps and args.steps * share, 60 * args.minutes * share
        self.step, self.rows, self.start = 0, [], time.time()

    def done(self):
        return self.step / self.steps if self.steps else (time.time() - self.start) / self.seconds

    def tell(self, *numbers):
        self.rows.append(torch.stack([n.detach().float() for n in numbers]))
        self.step += 1
        if len(self.rows) == 50:
            mean = " ".join(f"{x:.3f}" for x in torch.stack(self.rows).mean(0).tolist())
            print(f"{self.step}: {mean}  {time.time() - self.start:.0f} s", flush=True)
            self.rows = []


def look(tower, looking, args):
    """The first part. Prints the loss and shares of what is right."""
    opt, clock = Optimizer([(tower, args.peak, 1e-3), (looking, 0, 2e-3)], [tower.patch, looking]), Clock(args, LOOK)
    for pixels, marks in batches(args, "look"):
        if (done := clock.done()) >= 1:
            return
        with half(args):
            patches, pictures = tower(pixels)
        loss, right = looking(patches.float(), pictures.float(), marks)
        opt.step(loss, rate(clock.step, done))
        clock.tell(loss, *right)


def answer(tower, looking, model, tok, args, save):
    """The second part. Prints the losses of answers and of looking, and the share of words that count that are right."""
    opt = Optimizer([(tower, args.peak / 2, 5e-4), (looking, 0, 1e-3), (model, args.peak, 3e-3)], [tower.patch, looking])
    clock = Clock(args, 1 - LOOK)
    for pixels, marks, (ids, positions, branches), goals, (rows, places, numbers) in batches(args, "answer", tok):
        if (done := clock.done()) >= 1:
            return
        with half(args):
            patches, pictures = tower(pixels)
        seen, right = looking(patches.float(), pictures.float(), marks)
        x = model.embed(ids.clamp(min=0)).index_put((rows, places), pictures.float()[numbers])
        row, place, wanted, weight = goals
        with half(args):
            logits = (model.read(x, positions[:, None], mask(branches))[row, place] @ model.embed.weight.T).float()
        loss = (functional.cross_entropy(logits, wanted, reduction="none") * weight).sum() / weight.sum()
        opt.step(loss + 0.5 * seen, rate(clock.step, done))
        keys = (weight > 1).float()
        clock.tell(loss, seen, ((logits.argmax(-1) == wanted) * keys).sum() / keys.sum(), *right)
        if clock.step % 500 == 0:
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
    length = args.add_mutually_exclusive_group()
    length.add_argument("--steps", type=int, help="how many: gives the same model again on the same machine")
    length.add_argument("--minutes", type=float, default=120, help="instead of steps")
    args.add_argument("--batch", type=int, default=32, help="drawings in a step")
    args.add_argument("--peak", type=float, default=0.02, help="highest learning rate of matrices")
    args.add_argument("--device", default="cpu", help="cuda: a GPU")
    args.add_argument("--threads", type=int, default=2)
    args.add_argument("--workers", type=int, default=0, help="processes that make drawings")
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--examine", type=int, default=100, help="held-out questions of each kind at the end")
    args = args.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    torch.set_float32_matmul_precision("high")
    small = Tokenizer(texts(random.Random(args.seed)), SHAPE.vocab)
    tok, model = Trained(small.tokens, small.merges), Model(SHAPE)
    begin(model)
    tower, looking = Tower(SHAPE.dim), Looking(SHAPE.dim)
    tower.whiten(batch([draw(random.Random(i)) for i in range(400)])[0])
    for part in (tower, looking, model):
        part.to(args.device)

    def save():
        write_model(args.out, tok, model, "Penstock Tiny Vision", "A toy chat model that sees simple drawings, for demonstrations and tests.")
        folder, name = os.path.split(args.out)
        write_tower(os.path.join(folder, "mmproj-" + name), tower, SHAPE.dim)

    print(f"{len(tok.tokens)} tokens, {sum(p.numel() for p in tower.parameters())} parameters see, {sum(p.numel() for p in model.parameters())} answer", flush=True)
    look(tower, looking, args)
    answer(tower, looking, model, tok, args, save)
    save()
    examine(tower.cpu(), model.cpu(), tok, f"examine {args.seed}", args.examine)


if __name__ == "__main__":
    main()
