# SPDX-License-Identifier: MIT
"""Trains the built-in demonstration model and writes it as a GGUF file."""
import argparse
import json
import math
import time

import numpy as np
import torch
from torch.nn import functional

from bpe import Tokenizer
from export import write_model
from network import TINY, Model

LENGTH, BATCH = 256, 24  # tokens in a row, rows in a step
PEAK, WARM_UP = 3e-3, 100  # highest learning rate, steps until it is reached


def learning_rate(step, done):
    """done: the part of the training that is over, 0 to 1."""
    return PEAK * min(1, (step + 1) / WARM_UP) * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * done)))


def load(path):
    with open(path, encoding="utf-8") as lines:
        chats = [json.loads(line) for line in lines]
    tok = Tokenizer([m["role"] + "\n" + m["content"] for chat in chats for m in chat] + ["\n"], TINY.vocab)
    return tok, torch.tensor(np.concatenate([np.array(tok.chat(chat), dtype=np.int64) for chat in chats]))


def step_once(model, opt, data):
    at = torch.randint(len(data) - LENGTH - 1, (BATCH,))
    x = torch.stack([data[i:i + LENGTH] for i in at])
    y = torch.stack([data[i + 1:i + LENGTH + 1] for i in at])
    loss = functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    return loss.item()


def train(model, data, args, save):
    opt = torch.optim.AdamW(model.parameters(), lr=PEAK, betas=(0.9, 0.95), weight_decay=0.05)
    start, step = time.time(), 0
    while True:
        done = step / args.steps if args.steps else (time.time() - start) / (60 * args.minutes)
        if done >= 1:
            return
        for group in opt.param_groups:
            group["lr"] = learning_rate(step, done)
        loss = step_once(model, opt, data)
        step += 1
        if step % 50 == 0:
            rate = step * BATCH * LENGTH / (time.time() - start)
            print(f"step {step} loss {loss:.3f} {rate:.0f} tokens/s {100 * done:.0f}%", flush=True)
        if step % 500 == 0:
            save()


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("corpus", help="what corpus.py wrote")
    args.add_argument("out", help="GGUF file to write")
    length = args.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, default=40, help="how long to train; the learning rate falls with it")
    length.add_argument("--steps", type=int, help="instead of minutes: gives the same model again on the same machine")
    args.add_argument("--threads", type=int, default=2)
    args.add_argument("--seed", type=int, default=1)
    args = args.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    tok, data = load(args.corpus)
    model = Model()
    print(f"{len(tok.tokens)} tokens, {len(tok.merges)} merges, {len(data) / 1e6:.1f}M training tokens, "
          f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f}M parameters", flush=True)
    train(model, data, args, lambda: write_model(args.out, tok, model))
    write_model(args.out, tok, model)


if __name__ == "__main__":
    main()
