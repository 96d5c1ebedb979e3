#!/usr/bin/python3
"""Ten steps of training a small GPT-2: AdamW by PyTorch, LAMB and Muon by NumPy on PyTorch's
gradients.

    tests/golden/curve_reference.py      (PyTorch 1.13, NumPy)

In float64, each step the mean over two micro-batches, clipped, the rate a cosine after a
warm-up; eps is above float32's noise, since the keys' bias has no gradient in theory.
Writes into tests/golden/curve/, float32, one behind the other:
    start.f32  the weights, in the order of the table of tensors; then ids, then labels,
               each [STEPS,MICRO,B,T]
    NAME.f32   for each step loss and norm of the gradient before clipping; the last weights
tests/unit/train/step/test_curve.c has the same settings.
"""
import math
import os

import numpy as np
import torch

from gpt2_reference import forward
from optimizer_reference import fused_of, norm_of, numpy_step

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "curve")
STEPS, MICRO, B, T = IDS_SHAPE = 10, 2, 2, 18
V, C, F, P, L = 31, 16, 24, 20, 2
CONFIG = {"n_layer": L, "n_head": 2, "n_embd": C, "n_inner": F, "n_positions": P, "vocab_size": V,
          "layer_norm_epsilon": 1e-5, "tie_word_embeddings": True, "activation_function": "gelu_new"}
LAYER = [("ln_1.weight", (C,)), ("ln_1.bias", (C,)), ("attn.c_attn.weight", (C, 3 * C)),
         ("attn.c_attn.bias", (3 * C,)), ("attn.c_proj.weight", (C, C)), ("attn.c_proj.bias", (C,)),
         ("ln_2.weight", (C,)), ("ln_2.bias", (C,)), ("mlp.c_fc.weight", (C, F)),
         ("mlp.c_fc.bias", (F,)), ("mlp.c_proj.weight", (F, C)), ("mlp.c_proj.bias", (C,))]
TENSORS = ([("wte.weight", (V, C)), ("wpe.weight", (P, C))] +
           [(f"h.{i}.{name}", shape) for i in range(L) for name, shape in LAYER] +
           [("ln_f.weight", (C,)), ("ln_f.bias", (C,))])
PLAIN = {"beta1": 0.9, "beta2": 0.95, "weight_decay": 0.1, "decay": "matrices",
         "bias_correction": True, "grad_clip": 1.0}
CASES = {"adamw": dict(PLAIN, kind="adamw", eps=1e-6, rate=3e-3),
         "lamb": dict(PLAIN, kind="lamb", eps=1e-6, rate=2e-2),
         "muon": dict(PLAIN, kind="muon", momentum=0.95, eps=1e-6, rate=3e-3)}


def rate_of(c, step):
    """Warm-up of 3 steps from 0.1 of the rate, then a cosine to 0.1 of it at the end."""
    low = 0.1 * c["rate"]
    if step < 3:
        return low + (c["rate"] - low) * step / 3
    return low + (c["rate"] - low) * (1 + math.cos(math.pi * (step - 3) / (STEPS - 3))) / 2


def gradient(weights, ids, labels):
    """Loss and gradients of the mean over all labels that count, micro-batch by micro-batch."""
    params = {name: torch.tensor(w, requires_grad=True) for (name, _), w in zip(TENSORS, weights)}
    targets = int((labels >= 0).sum())
    total = 0.0
    for i in range(MICRO):
        logits = torch.cat([forward(CONFIG, params, list(row), torch.float64)[0] for row in ids[i]])
        loss = torch.nn.functional.cross_entropy(
            logits, torch.tensor(labels[i]).reshape(-1), reduction="sum") / targets
        loss.backward()
        total += float(loss)
    return total, [p.grad.numpy() for p in params.values()]


def train(c, weights, ids, labels):
    w = [a.copy() for a in weights]
    m, v = [np.zeros_like(a) for a in w], [np.zeros_like(a) for a in w]
    params = [torch.nn.Parameter(torch.tensor(a)) for a in w]
    adamw = torch.optim.AdamW(
        [{"params": [p for p in params if p.dim() == 2], "weight_decay": c["weight_decay"]},
         {"params": [p for p in params if p.dim() == 1], "weight_decay": 0.0}],
        betas=(c["beta1"], c["beta2"]), eps=c["eps"])
    curve = []
    for t in range(STEPS):
        loss, grads = gradient(w, ids[t], labels[t])
        curve.append([loss, norm_of(grads)])
        if c["kind"] != "adamw":
            numpy_step(c, w, m, v, t + 1, grads, rate_of(c, t), fused_of(TENSORS))
            continue
        for p, g in zip(params, grads):
            p.grad = torch.tensor(g)
        torch.nn.utils.clip_grad_norm_(params, c["grad_clip"])
        for group in adamw.param_groups:
            group["lr"] = rate_of(c, t)
        adamw.step()
        w = [p.detach().numpy().copy() for p in params]
    return curve, w


def write(name, parts):
    np.concatenate([np.asarray(a, np.float32).reshape(-1) for a in parts]).tofile(
        os.path.join(HERE, name + ".f32"))


def main():
    os.makedirs(HERE, exist_ok=True)
    rng = np.random.default_rng(2)
    weights = [rng.standard_normal(s) * 0.2 + (name.endswith("weight") and len(s) == 1)
               for name, s in TENSORS]
    weights = [a.astype(np.float32).astype(np.float64) for a in weights]
    ids = rng.integers(0, V, (STEPS, MICRO, B, T))
    labels = (ids * 7 + 3) % V  # something to learn
    labels[rng.random(labels.shape) < 0.2] = -100
    write("start", weights + [ids, labels])
    for name, c in CASES.items():
        curve, last = train(c, weights, ids, labels)
        write(name, [np.array(curve)] + last)
        print(name, *("%.4f/%.2f" % tuple(x) for x in curve))


if __name__ == "__main__":
    main()
