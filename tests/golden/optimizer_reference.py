#!/usr/bin/python3
"""Ten steps of each optimizer, and the rates of each schedule.

    tests/golden/optimizer_reference.py      (PyTorch 1.13, NumPy)

AdamW and Adam are torch.optim's, clipped by torch.nn.utils.clip_grad_norm_, in float64;
LAMB, Muon, and AdamW without bias correction, which torch.optim has not, are written out
below in NumPy: Muon as Keller Jordan's muon.py has it (momentum by lerp, Nesterov, five
iterations), but in float64, times the factor of Liu et al. 2025, Q, K and V apart. Writes into tests/golden/optimizer/
    start.f32      the weights, then the gradients of STEPS steps; as all .f32 here: float32,
                   tensors in the order of TENSORS, one behind the other
    cases.json     the settings of each case, and the global norm of each step's gradient
    NAME.f32       the weights after step 1 and after step STEPS of that case
    schedules.json settings, length of the run, and [step, rate] pairs
Schedules are the originals' formulas: fairseq's cosine_lr_scheduler, transformers'
get_*_schedule_with_warmup and get_wsd_schedule, nanoGPT's get_lr, languini's lr_cosine_decay and warm-up.
"""
import json
import math
import os

import numpy as np
import torch

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "optimizer")
STEPS = 10
V, C, F, P = 5, 4, 8, 3
TENSORS = [("wte", (V, C)), ("wpe", (P, C)), ("ln_1.weight", (C,)), ("ln_1.bias", (C,)),
           ("c_attn.weight", (C, 3 * C)), ("c_attn.bias", (3 * C,)), ("attn.c_proj.weight", (C, C)),
           ("attn.c_proj.bias", (C,)), ("ln_2.weight", (C,)), ("ln_2.bias", (C,)),
           ("c_fc.weight", (C, F)), ("c_fc.bias", (F,)), ("mlp.c_proj.weight", (F, C)),
           ("mlp.c_proj.bias", (C,)), ("ln_f.weight", (C,)), ("ln_f.bias", (C,))]
ADAMW = {"kind": "adamw", "beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.1,
         "decay": "matrices", "bias_correction": True, "grad_clip": 0.0, "rate": 0.01, "scale": 1.0}
CASES = {
    "adamw": {},
    "adamw-all-clipped": {"decay": "all", "beta2": 0.999, "grad_clip": 1.0, "scale": 0.125},
    "adamw-uncorrected": {"bias_correction": False, "eps": 1e-6},
    "adam": {"kind": "adam", "grad_clip": 0.5, "eps": 1e-3},
    "lamb": {"kind": "lamb", "eps": 1e-6, "weight_decay": 0.01},
    "lamb-all-clipped": {"kind": "lamb", "decay": "all", "grad_clip": 1.0, "bias_correction": False,
                         "scale": 0.25},
    "muon": {"kind": "muon", "momentum": 0.95},
    "muon-all-clipped": {"kind": "muon", "momentum": 0.5, "decay": "all", "grad_clip": 1.0,
                         "beta2": 0.999, "scale": 0.125},
}


def start(rng):
    """Weights with biases of zero; gradients of very different sizes, some zero."""
    weights = [rng.standard_normal(s) * 0.5 if len(s) == 2 else np.ones(s) * name.endswith("weight")
               for name, s in TENSORS]
    steps = []
    for t in range(STEPS):
        grads = [rng.standard_normal(s) * 10.0 ** (t % 4 - 2) for _, s in TENSORS]
        grads[1][2] = 0            # a position that was not seen
        grads[5][C:2 * C] *= 1e-8  # the keys' bias has none in theory
        if t < 3:
            grads[7][:] = 0        # a tensor that does not move at first
        steps.append(grads)
    f32 = lambda l: [np.asarray(a, np.float32).astype(np.float64) for a in l]
    return f32(weights), [f32(g) for g in steps]


def decays(c, shape):
    return c["decay"] == "all" or len(shape) == 2


def norm_of(arrays):
    return math.sqrt(sum(float((a * a).sum()) for a in arrays))


def by_torch(c, weights, steps):
    params = [torch.nn.Parameter(torch.tensor(w)) for w in weights]
    groups = [{"params": [p for p in params if decays(c, p.shape)], "weight_decay": c["weight_decay"]},
              {"params": [p for p in params if not decays(c, p.shape)], "weight_decay": 0.0}]
    kind = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}[c["kind"]]
    optimizer = kind([g for g in groups if g["params"]], lr=c["rate"], betas=(c["beta1"], c["beta2"]),
                     eps=c["eps"])
    for grads in steps:
        for p, g in zip(params, grads):
            p.grad = torch.tensor(g * c["scale"])
        if c["grad_clip"] > 0:
            torch.nn.utils.clip_grad_norm_(params, c["grad_clip"])
        optimizer.step()
        yield [p.detach().numpy().copy() for p in params]


def fused_of(tensors):
    """How many matrices Muon sees in each tensor; 0: AdamW steps it."""
    return [0 if len(shape) < 2 or name.split(".")[0] in ("wte", "wpe")
            else 3 if "c_attn" in name else 1 for name, shape in tensors]


def orthogonalize(g):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g.T if g.shape[0] > g.shape[1] else g
    x = x / (np.linalg.norm(x) + 1e-7)
    for _ in range(5):
        s = x @ x.T
        x = a * x + (b * s + c * s @ s) @ x
    return x.T if g.shape[0] > g.shape[1] else x


def muon_direction(c, m, g, fused):
    """Of a tensor, whose momentum is changed in place."""
    m *= c["momentum"]
    m += (1 - c["momentum"]) * g
    u = (1 - c["momentum"]) * g + c["momentum"] * m
    return np.concatenate([orthogonalize(part) * 0.2 * math.sqrt(max(part.shape))
                           for part in np.split(u, fused, axis=1)], axis=1)


def numpy_step(c, w, m, v, t, grads, rate, fused=()):
    """Step t, from 1, of lists of arrays that are changed in place."""
    norm = norm_of(grads)
    if c["grad_clip"] > 0 and c["grad_clip"] / (norm + 1e-6) < 1:
        grads = [g * (c["grad_clip"] / (norm + 1e-6)) for g in grads]
    for i, g in enumerate(grads):
        if c["kind"] == "muon" and fused[i] > 0:
            u = muon_direction(c, m[i], g, fused[i])
            w[i] = w[i] - rate * (u + c["weight_decay"] * w[i])
            continue
        m[i] = c["beta1"] * m[i] + (1 - c["beta1"]) * g
        v[i] = c["beta2"] * v[i] + (1 - c["beta2"]) * g * g
        m_hat, v_hat = m[i], v[i]
        if c["bias_correction"]:
            m_hat = m[i] / (1 - c["beta1"] ** t)
            v_hat = v[i] / (1 - c["beta2"] ** t)
        u = m_hat / (np.sqrt(v_hat) + c["eps"])
        decay = c["weight_decay"] if decays(c, g.shape) else 0.0
        if c["kind"] in ("adamw", "muon"):
            w[i] = w[i] - rate * (u + decay * w[i])
            continue
        u = u + decay * w[i]
        weight_norm, update_norm = norm_of([w[i]]), norm_of([u])
        trust = weight_norm / update_norm if weight_norm > 0 and update_norm > 0 else 1.0
        w[i] = w[i] - rate * trust * u


def by_numpy(c, weights, steps):
    w = [a.copy() for a in weights]
    m = [np.zeros_like(a) for a in w]
    v = [np.zeros_like(a) for a in w]
    for t, grads in enumerate(steps, 1):
        numpy_step(c, w, m, v, t, [g * c["scale"] for g in grads], c["rate"],
                   fused_of(TENSORS))
        yield [a.copy() for a in w]


def write(name, lists):
    flat = np.concatenate([np.asarray(a, np.float32).reshape(-1) for l in lists for a in l])
    flat.tofile(os.path.join(HERE, name + ".f32"))


def optimizers():
    weights, steps = start(np.random.default_rng(1))
    write("start", [weights] + steps)
    out = {}
    for name, changed in CASES.items():
        c = dict(ADAMW, **changed)
        torch_has_it = c["kind"] in ("adamw", "adam") and c["bias_correction"]
        after = list((by_torch if torch_has_it else by_numpy)(c, weights, steps))
        if torch_has_it and c["kind"] == "adamw":  # the two references against each other
            for a, b in zip(after[-1], list(by_numpy(c, weights, steps))[-1]):
                assert np.abs(a - b).max() < 1e-12
        write(name, [after[0], after[-1]])
        out[name] = dict(c, norms=[norm_of(g) * c["scale"] for g in steps])
    return out


def fairseq(c, step, total):
    lr, low, w, init = c["learning_rate"], c["min_learning_rate"], c["warmup"], c["warmup_init"]
    if step < w:
        return init + step * (lr - init) / w
    return low + 0.5 * (lr - low) * (1 + math.cos(math.pi * (step - w) / (total - w)))


def transformers(c, step, total):
    w = int(c["warmup"] * total) if c["warmup"] < 1 else c["warmup"]
    total = c["decay_steps"] or total
    if step < w:
        return c["learning_rate"] * step / max(1, w)
    if c["kind"] == "constant":
        return c["learning_rate"]
    if c["kind"] == "linear":
        return c["learning_rate"] * max(0.0, (total - step) / max(1, total - w))
    return c["learning_rate"] * max(0.0, 0.5 * (1 + math.cos(math.pi * min(1, (step - w) / (total - w)))))


def wsd(c, step, total):
    """transformers' get_wsd_schedule: linear warm-up, its min_lr_ratio and decay_type."""
    low = c["min_learning_rate"] / c["learning_rate"]
    w, stable = c["warmup"], int(c["decay_start"] * total) if c["decay_start"] < 1 else c["decay_start"]
    if step < w:
        factor = step / w
    elif step < stable:
        factor = 1
    elif step < total:
        part = (step - stable) / (total - stable)
        factor = 1 - part if c["kind"] == "linear" else 0.5 * (1 + math.cos(math.pi * part))
    else:
        factor = 0
    return c["learning_rate"] * (factor * (1 - low) + low)


def nanogpt(c, step, total):
    if step < c["warmup"]:
        return c["learning_rate"] * (step + 1) / (c["warmup"] + 1)
    if step > c["decay_steps"]:
        return c["min_learning_rate"]
    part = (step - c["warmup"]) / (c["decay_steps"] - c["warmup"])
    return c["min_learning_rate"] + 0.5 * (1 + math.cos(math.pi * part)) * (
        c["learning_rate"] - c["min_learning_rate"])


def languini(c, step, total):
    step += 1
    low, lr = c["min_learning_rate"], c["learning_rate"]
    rate = low + (1 + math.cos(math.pi * min(step, total) / total)) * 0.5 * (lr - low)
    return min(step, c["warmup"]) / c["warmup"] * rate


def schedules():
    plain = {"kind": "cosine", "learning_rate": 6e-4, "min_learning_rate": 0.0, "warmup": 0,
             "warmup_init": 0.0, "decay_start": 0, "decay_steps": 0}
    out = []
    for name, formula, changed, total in [
        ("fairseq", fairseq, {"warmup": 1000, "warmup_init": 1e-7, "min_learning_rate": 1e-5}, 100000),
        ("transformers constant", transformers, {"kind": "constant", "warmup": 10}, 100),
        ("transformers linear", transformers, {"kind": "linear", "warmup": 0.1}, 1000),
        ("transformers linear to a step", transformers, {"kind": "linear", "warmup": 20, "decay_steps": 60}, 100),
        ("transformers cosine", transformers, {"warmup": 0.01}, 150),
        ("transformers wsd", wsd, {"kind": "linear", "warmup": 10, "warmup_init": 6e-5,
                                   "min_learning_rate": 6e-5, "decay_start": 0.75}, 1000),
        ("transformers wsd, a cosine", wsd, {"warmup": 10, "decay_start": 900}, 1000),
        ("nanoGPT", nanogpt, {"warmup": 100, "warmup_init": 6e-4 / 101, "min_learning_rate": 6e-5,
                              "decay_steps": 5000}, 6000),
        ("languini", languini, {"kind": "cosine_ramp", "warmup": 200, "min_learning_rate": 6e-6}, 18265),
    ]:
        c = dict(plain, **changed)
        w = int(c["warmup"] * total) if c["warmup"] < 1 else c["warmup"]
        steps = sorted({0, 1, w // 2, w - 1, w, w + 1, total // 3, total // 2, total - 1, total - 2} - {-1})
        if c["decay_start"]:
            s = int(c["decay_start"] * total) if c["decay_start"] < 1 else c["decay_start"]
            steps += [s - 1, s, s + 1, (s + total) // 2, total, total + 5]
        if c["decay_steps"]:
            steps += [c["decay_steps"] - 1, c["decay_steps"], c["decay_steps"] + 7]
        out.append(dict(c, name=name, n_steps=total, rates=[[s, formula(c, s, total)] for s in steps]))
    return out


def main():
    os.makedirs(HERE, exist_ok=True)
    for name, content in ("cases", optimizers()), ("schedules", schedules()):
        with open(os.path.join(HERE, name + ".json"), "w") as f:
            json.dump(content, f, indent=1)
            f.write("\n")


if __name__ == "__main__":
    main()
