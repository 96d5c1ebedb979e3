#!/usr/bin/python3
"""Training with everything that is kept in binary16: the storage of train/ in PyTorch and NumPy.

    tests/golden/half_reference.py      (PyTorch 1.13, NumPy)

The model and data of curve_reference.py, its weights rounded to binary16. All arithmetic is
float32; rounded are weights, gradients (once a sequence; what the embedding's rows have as such,
once a step), the activations a backward needs, and the first moment, in units of a power of two for each tensor (which here are all shorter
than a run). Writes into tests/golden/half/, float32:
    gradients.f32   the loss and the gradients of the first step, of the sum over all labels
    NAME.f32        for each of ten AdamW steps loss and norm, then the last weights; nearest:
                    weights rounded to nearest; chance: as kernels.h's narrow_random has it,
                    with Philox4x32-10 (Salmon et al. 2011) written out below
"""
import os

import numpy as np
import torch

from curve_reference import CASES, CONFIG, HERE as CURVE, IDS_SHAPE, STEPS, TENSORS, rate_of
from gpt2_reference import forward

HERE = os.path.join(os.path.dirname(CURVE), "half")
SEED, ROUNDING, PIECE = 11, 1 << 63, 16384
F32 = np.float32


class Kept(torch.autograd.Function):
    """Rounded on the way, as if it were not on the way back."""

    @staticmethod
    def forward(ctx, a):
        return a.half().float()

    @staticmethod
    def backward(ctx, grad):
        return grad


def read_start():
    data = np.fromfile(os.path.join(CURVE, "start.f32"), F32)
    weights, at = [], 0
    for _, shape in TENSORS:
        n = int(np.prod(shape))
        weights.append(data[at:at + n].reshape(shape).astype(np.float16))
        at += n
    ids, labels = data[at:].astype(np.int64).reshape((2,) + IDS_SHAPE)
    return weights, ids, labels


def gradient(weights, ids, labels):
    """Loss and stored gradients of the sum over all labels that count."""
    stored, total = [np.zeros(w.shape, np.float16) for w in weights], 0.0
    embedded = np.zeros(weights[0].shape, F32)
    config = dict(CONFIG, tie_word_embeddings=False)
    for i, row in np.ndindex(ids.shape[:2]):
        params = {name: torch.tensor(w.astype(F32), requires_grad=True)
                  for (name, _), w in zip(TENSORS, weights)}
        head = torch.tensor(weights[0].astype(F32), requires_grad=True)
        logits = forward(config, dict(params, **{"lm_head.weight": head}), list(ids[i][row]),
                         torch.float32, Kept.apply)[0]
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor(labels[i][row]),
                                                 reduction="sum")
        loss.backward()
        total += float(loss)
        embedded += params["wte.weight"].grad.numpy()
        params["wte.weight"] = head
        stored = [(g.astype(F32) + p.grad.numpy()).astype(np.float16)
                  for g, p in zip(stored, params.values())]
    stored[0] = (stored[0].astype(F32) + embedded).astype(np.float16)
    return total, stored


def philox(counters, stream):
    """The four words of each counter."""
    low = np.uint64(0xFFFFFFFF)
    w = [counters & low, counters >> np.uint64(32)]
    w += [np.full_like(counters, stream & 0xFFFFFFFF), np.full_like(counters, stream >> 32)]
    k0, k1 = SEED & 0xFFFFFFFF, SEED >> 32
    for _ in range(10):
        a, b = w[0] * np.uint64(0xD2511F53), w[2] * np.uint64(0xCD9E8D57)
        w = [(b >> np.uint64(32)) ^ w[1] ^ np.uint64(k0), b & low,
             (a >> np.uint64(32)) ^ w[3] ^ np.uint64(k1), a & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return w


def by_chance(x, stream, block):
    """Element i has word i % 64 / 16 of counter 16 (block + i / 64) + i % 16."""
    flat = x.reshape(-1).astype(np.float64)
    i = np.arange(flat.size, dtype=np.uint64)
    words = philox((np.uint64(block) + i // np.uint64(64)) * np.uint64(16) + i % np.uint64(16), stream)
    word = np.choose((i % np.uint64(64) // np.uint64(16)).astype(int), words)
    chance = (word >> np.uint64(9)).astype(np.float64) / 2**23
    exponent = np.maximum(np.floor(np.log2(np.maximum(abs(flat), 2.0**-30))), -14)
    last = 2.0 ** (exponent - 10)
    t = abs(flat) / last
    rounded = (np.floor(t) + (t - np.floor(t) > chance)) * last
    return (np.sign(flat) * rounded).reshape(x.shape).astype(np.float16)


def keep_moment(m):
    exponent = np.frexp(abs(m).max())[1] - 15
    return (m / F32(2.0**exponent)).astype(np.float16).astype(F32) * F32(2.0**exponent)


def train(c, chance, weights, ids, labels):
    w = [a.copy() for a in weights]
    m, v = [np.zeros(a.shape, F32) for a in w], [np.zeros(a.shape, F32) for a in w]
    curve = []
    for t in range(1, STEPS + 1):
        loss, grads = gradient(w, ids[t - 1], labels[t - 1])
        targets = int((labels[t - 1] >= 0).sum())
        norm = np.sqrt(sum(float((g.astype(np.float64) ** 2).sum()) for g in grads)) / targets
        curve.append([loss / targets, norm])
        scale = F32(min(1, c["grad_clip"] / (norm + 1e-6)) / targets)
        rate = rate_of(c, t - 1)
        for i, g in enumerate(grads):
            g = g.astype(F32) * scale
            m[i] = F32(c["beta1"]) * m[i] + F32(1 - c["beta1"]) * g
            v[i] = F32(c["beta2"]) * v[i] + F32(1 - c["beta2"]) * g * g
            u = m[i] / F32(1 - c["beta1"]**t) / (np.sqrt(v[i] / F32(1 - c["beta2"]**t)) + F32(c["eps"]))
            decay = rate * c["weight_decay"] if w[i].ndim == 2 else 0
            new = w[i].astype(F32) * F32(1 - decay) - F32(rate) * u
            w[i] = by_chance(new, ROUNDING | t, i * PIECE // 64) if chance else new.astype(np.float16)
            m[i] = keep_moment(m[i])
    return curve, w


def write(name, parts):
    np.concatenate([np.asarray(a, F32).reshape(-1) for a in parts]).tofile(
        os.path.join(HERE, name + ".f32"))


def main():
    os.makedirs(HERE, exist_ok=True)
    weights, ids, labels = read_start()
    loss, grads = gradient(weights, ids[0], labels[0])
    write("gradients", [[loss]] + grads)
    for name, chance in ("nearest", False), ("chance", True):
        curve, last = train(CASES["adamw"], chance, weights, ids, labels)
        write(name, [np.array(curve)] + last)
        print(name, *("%.4f/%.2f" % tuple(x) for x in curve))


if __name__ == "__main__":
    main()
