# SPDX-License-Identifier: MIT
"""An optimizer that needs far fewer steps than AdamW alone: the steps of matrices are made orthogonal (Muon), the rest is AdamW's."""
import math

import torch

MOMENTUM, DECAY = 0.95, 0.01


def orthogonal(g):
    """The orthogonal matrix near g, about, by five steps of Newton and Schulz."""
    x = g / (g.norm() + 1e-7)
    tall = x.shape[0] > x.shape[1]
    if tall:
        x = x.T
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.T if tall else x


class Optimizer:
    """groups: (module, peak of the learning rate of matrices, that of the rest). Matrices are the weights of linear layers whose module is
    not among plain; joined ones (qkv) are three."""

    def __init__(self, groups, plain=()):
        self.matrices, rest = [], []
        skipped = {id(p) for module in plain for p in module.parameters()}
        for module, peak, other in groups:
            of = {id(m.weight): m for m in module.modules() if isinstance(m, torch.nn.Linear)}
            found = [p for p in module.parameters() if id(p) in of and id(p) not in skipped]
            names = {id(p): name for name, p in module.named_parameters()}
            self.matrices += [(p, peak, 3 if "qkv" in names[id(p)] else 1, torch.zeros_like(p)) for p in found]
            taken = {id(p) for p in found}
            rest.append({"params": [p for p in module.parameters() if id(p) not in taken], "peak": other})
        self.rest = torch.optim.AdamW(rest, lr=0, betas=(0.9, 0.98), weight_decay=0.01)
        self.all = [p for p, *_ in self.matrices] + [p for g in rest for p in g["params"]]

    def step(self, loss, rate):
        """A step at a part of the peaks."""
        self.rest.zero_grad()
        for p, *_ in self.matrices:
            p.grad = None
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.all, 1.0)
        for group in self.rest.param_groups:
            group["lr"] = group["peak"] * rate
        self.rest.step()
        with torch.no_grad():
            for p, peak, parts, momentum in self.matrices:
                momentum.mul_(MOMENTUM).add_(p.grad)
                step = p.grad + MOMENTUM * momentum
                p.mul_(1 - peak * rate * DECAY)
                for part, s in zip(p.chunk(parts), step.chunk(parts)):
                    part.sub_(orthogonal(s), alpha=peak * rate * math.sqrt(max(1, s.shape[0] / s.shape[1])))
