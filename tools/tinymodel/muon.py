# SPDX-License-Identifier: MIT
"""An optimizer that needs far fewer steps than AdamW alone: the steps of matrices are made orthogonal (Muon), the rest is AdamW's."""
import math

import torch

MOMENTUM, DECAY = 0.95, 0.01


def orthogonal(g):
    """The orthogonal matrices near those of g, about, by five steps of Newton and Schulz."""
    x = g / (g.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.mT
    for _ in range(5):
        a = x @ x.mT
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.mT if tall else x


class Optimizer:
    """groups: (module, peak of the learning rate of matrices, that of the rest). Matrices are the weights of linear layers whose module is
    not among plain; joined ones (qkv) are three."""

    def __init__(self, groups, plain=()):
        self.matrices, rest = {}, []  # those of one shape take their steps together
        skipped = {id(p) for module in plain for p in module.parameters()}
        for module, peak, other in groups:
            of = {id(m.weight): m for m in module.modules() if isinstance(m, torch.nn.Linear)}
            found = [p for p in module.parameters() if id(p) in of and id(p) not in skipped]
            names = {id(p): name for name, p in module.named_parameters()}
            for p in found:
                parts = p.detach().chunk(3 if "qkv" in names[id(p)] else 1)
                alike = self.matrices.setdefault((parts[0].shape, peak), [])
                alike += [(p, i, part, torch.zeros_like(part)) for i, part in enumerate(parts)]
            taken = {id(p) for p in found}
            rest.append({"params": [p for p in module.parameters() if id(p) not in taken], "peak": other})
        self.rest = torch.optim.AdamW(rest, lr=0, betas=(0.9, 0.98), weight_decay=0.01)
        whole = {id(p): p for alike in self.matrices.values() for p, *_ in alike}
        self.all = [*whole.values(), *(p for g in rest for p in g["params"])]

    def step(self, loss, rate):
        """A step at a part of the peaks."""
        for p in self.all:
            p.grad = None
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.all, 1.0)
        for group in self.rest.param_groups:
            group["lr"] = group["peak"] * rate
        self.rest.step()
        with torch.no_grad():
            for ((rows, columns), peak), alike in self.matrices.items():
                grads = [p.grad[i * rows:(i + 1) * rows] for p, i, *_ in alike]
                parts, momenta = [part for *_, part, _ in alike], [m for *_, m in alike]
                torch._foreach_mul_(momenta, MOMENTUM)
                torch._foreach_add_(momenta, grads)
                steps = orthogonal(torch.stack(torch._foreach_add(grads, momenta, alpha=MOMENTUM)))
                torch._foreach_mul_(parts, 1 - peak * rate * DECAY)
                torch._foreach_add_(parts, list(steps), alpha=-peak * rate * math.sqrt(max(1, rows / columns)))
