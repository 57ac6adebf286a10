# SPDX-License-Identifier: MIT
"""Trains the built-in model that sees, from the built-in text model and drawings, and writes it as two GGUF files.

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
from bpe import END, START, Trained
from drawings import draw
from export import tensors, write_model
from lessons import PICTURE, Talk, lessons
from looking import Looking, batch
from network import DIM, Model
from tower import Tower, write_tower
from weights import read_gguf

HALF = torch.autocast("cpu", dtype=torch.bfloat16)  # products of matrices, twice as fast on processors that have them
LOOKS, PICTURES, TALKS = 32, 40, 12  # drawings in a step of looking; drawings and chats without one in a step of answering
FORGOTTEN = 2  # the text model's layer that is left out: it is the one that is missed least
WORDS = ("circle circles square squares triangle triangles star stars picture image shape shapes color colour background digit number left right above "
         "below bigger smaller purple orange yellow gray see no There Which").split()


def read_text_model(path):
    """The text model with a layer less and with tokens for words of pictures."""
    keys, stored = read_gguf(path)
    old = Trained(keys["tokenizer.ggml.tokens"], [tuple(m.split(" ")) for m in keys["tokenizer.ggml.merges"]])
    model = Model()
    with torch.no_grad():
        for name, weight in tensors(model):
            weight.copy_(stored[name])
        model.blocks = torch.nn.ModuleList(b for i, b in enumerate(model.blocks) if i != FORGOTTEN)
        tok = with_words(old)
        rows = [model.embed.weight]
        texts = {tok.tokens[i]: i for i in range(len(old.tokens), len(tok.tokens))}
        for token in texts:
            rows.append(model.embed.weight[old.encode_letters(token)].mean(0, keepdim=True))
        model.embed = torch.nn.Embedding.from_pretrained(torch.cat(rows), freeze=False)
    return tok, model


def with_words(old):
    """The tokenizer with merges for WORDS behind its own."""
    tokens, merges = list(old.tokens), list(old.merges)
    for word in WORDS:
        letters = [tokens[i] for i in Trained(tokens, merges).encode(word if word[0].isupper() else " " + word)]
        while len(letters) > 1:
            merges.append((letters[0], letters[1]))
            tokens.append(letters[0] + letters[1])
            letters[:2] = [tokens[-1]]
    while len(tokens) % 32:
        tokens.append(f"<|unused{len(tokens)}|>")
    return Trained(tokens, merges)


def rate(step, steps, peak, warm_up=100):
    return peak * min(1, (step + 1) / warm_up) * (0.03 + 0.97 * 0.5 * (1 + math.cos(math.pi * step / steps)))


def optimizer(groups):
    """groups: (parameters, peak of the learning rate)."""
    return torch.optim.AdamW([{"params": list(p), "peak": peak} for p, peak in groups], lr=0, betas=(0.9, 0.98), weight_decay=0.02)


def descend(opt, loss, step, steps):
    for group in opt.param_groups:
        group["lr"] = rate(step, steps, group["peak"])
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_([p for g in opt.param_groups for p in g["params"]], 1.0)
    opt.step()


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
    """The first part. Prints the loss and shares of what is right: centers, counts, digits, backgrounds."""
    opt, clock = optimizer([([*tower.parameters(), *looking.parameters()], args.peak)]), Clock(50)
    for step in range(args.looks):
        pixels, marks = batch([draw(r) for _ in range(LOOKS)])
        with HALF:
            patches, pictures = tower(pixels)
        loss, right = looking(patches.float(), pictures.float(), marks)
        descend(opt, loss, step, args.looks)
        clock.tell(step, loss.item(), *right)
        if (step + 1) % 500 == 0 or step + 1 == args.looks:
            save()


def embedded(model, ids, places, pictures):
    """What the text model reads: its own embeddings, and the tower's where pictures stand."""
    x = model.embed(ids.clamp(min=0))
    rows = torch.tensor([row for row, _, _ in places])[:, None]
    columns = torch.tensor([at for _, at, _ in places])[:, None] + torch.arange(pictures.shape[1])
    return x.index_put((rows, columns), pictures[torch.tensor([number for _, _, number in places])])


def answer(tower, looking, model, tok, r, args, save):
    """The second part. Prints the losses of answers and of looking, and the share of words that count that are right."""
    talk = Talk(tok, r)
    opt = optimizer([([*tower.parameters(), *looking.parameters()], args.peak / 2), (model.parameters(), 1.5e-3)])
    clock = Clock(20)
    for step in range(args.steps):
        drawings = [draw(r) for _ in range(PICTURES)]
        pixels, marks = batch(drawings)
        with HALF:
            patches, pictures = tower(pixels)
        seen, right = looking(patches.float(), pictures.float(), marks)
        ids, positions, mask, weights, places = lessons(tok, r, talk, drawings, TALKS)
        x = embedded(model, ids, places, pictures.float())
        with HALF:
            out = model.read(x, positions, mask).float()
        at = (weights[:, 1:] > 0).nonzero(as_tuple=True)
        logits, wanted, weight = out[:, :-1][at] @ model.embed.weight.T, ids[:, 1:][at], weights[:, 1:][at]
        loss = (functional.cross_entropy(logits, wanted, reduction="none") * weight).sum() / weight.sum()
        descend(opt, loss + 0.25 * seen, step, args.steps)
        keys = weight > 1
        clock.tell(step, loss.item(), seen.item(), (logits.argmax(-1) == wanted)[keys].float().mean().item(), *right)
        if (step + 1) % 100 == 0 or step + 1 == args.steps:
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
    args.add_argument("text", help="GGUF file of the text model to begin with")
    args.add_argument("out", help="GGUF file of the text model to write; that of the projector has mmproj- before its name")
    args.add_argument("--looks", type=int, default=4000, help="steps in which the tower learns to see")
    args.add_argument("--steps", type=int, default=2000, help="steps in which both learn to answer")
    args.add_argument("--peak", type=float, default=1.2e-3, help="highest learning rate while it learns to see")
    args.add_argument("--threads", type=int, default=2)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--state", help="file with what was learned, to go on from and to write")
    args.add_argument("--examine", type=int, default=100, help="held-out questions of each kind at the end")
    args = args.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    tok, model = read_text_model(args.text)
    tower, looking = Tower(DIM), Looking(DIM)
    parts = {"tower": tower, "looking": looking, "model": model}
    if args.state and os.path.exists(args.state):
        for name, state in torch.load(args.state).items():
            parts[name].load_state_dict(state)
    else:
        tower.whiten(batch([draw(random.Random(i)) for i in range(400)])[0])

    def save():
        if args.state:
            torch.save({name: part.state_dict() for name, part in parts.items()}, args.state)
        write_model(args.out, tok, model, "Penstock Tiny Vision", "A toy chat model that sees simple drawings, for demonstrations and tests.")
        folder, name = os.path.split(args.out)
        write_tower(os.path.join(folder, "mmproj-" + name), tower, DIM)

    print(f"{len(tok.tokens)} tokens, {sum(p.numel() for p in tower.parameters())} parameters see, {sum(p.numel() for p in model.parameters())} answer", flush=True)
    if args.looks:
        look(tower, looking, random.Random(f"look {args.seed}"), args, save)
    if args.steps:
        answer(tower, looking, model, tok, random.Random(f"answer {args.seed}"), args, save)
    save()
    examine(tower, model, tok, f"examine {args.seed}", args.examine)


if __name__ == "__main__":
    main()
