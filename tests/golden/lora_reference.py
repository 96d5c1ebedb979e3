#!/usr/bin/python3
"""LoRA on a small GPT-2, by PyTorch in float64: gradients, and ten steps of AdamW.

    tests/golden/lora_reference.py      (PyTorch 1.13, NumPy)

Weights, ids and labels are those of tests/golden/curve/start.f32 (curve_reference.py); each W
[in,out] of a target becomes W + scale (B A)^T, A [r,in] and B [out,r] as PEFT has them. Writes
into tests/golden/lora/, float32, one behind the other:
    CASE.f32   A and B of each term, layer by layer; the mean loss over the labels of the first
               step that count; the gradients of A and B in the same order
    adamw.f32  of the first case, A as there and B zero: for each of ten steps loss and norm of
               the gradient before clipping; the last A and B
tests/unit/train/step/test_lora.c has the same settings.
"""
import os

import numpy as np
import torch

from curve_reference import B, CASES, CONFIG, MICRO, STEPS, T, TENSORS, rate_of
from gpt2_reference import forward

HERE = os.path.dirname(os.path.abspath(__file__))
ALL = ["attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"]
ADAPTERS = {"all": {"targets": ALL, "r": 3, "scale": 8 / 3},
            "rslora": {"targets": ["mlp.c_proj"], "r": 4, "scale": 6 / 4**0.5}}


def read_start():
    flat = np.fromfile(os.path.join(HERE, "curve", "start.f32"), np.float32).astype(np.float64)
    weights, at = {}, 0
    for name, shape in TENSORS:
        n = int(np.prod(shape))
        weights[name] = torch.tensor(flat[at:at + n].reshape(shape))
        at += n
    ids, labels = flat[at:].astype(np.int64).reshape(2, STEPS, MICRO * B, T)
    return weights, ids, labels


def make(adapter, weights, rng):
    terms = []
    for layer in range(CONFIG["n_layer"]):
        for target in adapter["targets"]:
            name = f"h.{layer}.{target}.weight"
            rows, cols = weights[name].shape
            for shape in ((adapter["r"], rows), (cols, adapter["r"])):
                a = (rng.standard_normal(shape) * 0.2).astype(np.float32).astype(np.float64)
                terms.append((name, torch.nn.Parameter(torch.tensor(a))))
    return terms


def loss_of(adapter, weights, terms, ids, labels):
    merged = dict(weights)
    for (name, a), (_, b) in zip(terms[::2], terms[1::2]):
        merged[name] = merged[name] + adapter["scale"] * (b @ a).T
    logits = torch.cat([forward(CONFIG, merged, list(row), torch.float64)[0] for row in ids])
    return torch.nn.functional.cross_entropy(logits, torch.tensor(labels).reshape(-1))


def write(name, parts):
    np.concatenate([np.asarray(p, np.float64).reshape(-1) for p in parts]).astype(np.float32).tofile(
        os.path.join(HERE, "lora", name + ".f32"))


def train(adapter, weights, terms, ids, labels):
    c = CASES["adamw"]
    params = [p for _, p in terms]
    with torch.no_grad():
        for p in params[1::2]:
            p.zero_()
    adamw = torch.optim.AdamW(params, weight_decay=c["weight_decay"], eps=c["eps"],
                              betas=(c["beta1"], c["beta2"]))
    curve = []
    for t in range(STEPS):
        adamw.zero_grad()
        loss = loss_of(adapter, weights, terms, ids[t], labels[t])
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(params, c["grad_clip"])
        curve.append([float(loss), float(norm)])
        for group in adamw.param_groups:
            group["lr"] = rate_of(c, t)
        adamw.step()
    write("adamw", [curve] + [p.detach().numpy() for p in params])
    print("adamw", *("%.4f/%.3f" % tuple(x) for x in curve))


def main():
    os.makedirs(os.path.join(HERE, "lora"), exist_ok=True)
    weights, ids, labels = read_start()
    for name, adapter in ADAPTERS.items():
        terms = make(adapter, weights, np.random.default_rng(5))
        loss = loss_of(adapter, weights, terms, ids[0], labels[0])
        loss.backward()
        values = [p.detach().numpy() for _, p in terms]
        write(name, values + [float(loss.detach())] + [p.grad.numpy() for _, p in terms])
        print(name, float(loss.detach()))
        if name == "all":
            train(adapter, weights, terms, ids, labels)


main()
