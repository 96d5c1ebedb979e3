#!/usr/bin/python3
"""Loss and gradients of small GPT-2s by PyTorch's autograd in float64.

    tests/golden/training_reference.py      (PyTorch 1.13, NumPy)

Writes tests/golden/training/NAME.f32 for each case of CASES: float32, one behind the other
    the mean loss over the labels that count
    logits [LOGITS,V] of the last LOGITS positions of all
    the gradient of the mean loss of every parameter, tensors in the order of TENSORS
Weights, ids and labels come from the same integer hash in tests/unit/train/step/test_backward.c.
"""
import os

import numpy as np
import torch

from gpt2_reference import forward

HERE = os.path.dirname(os.path.abspath(__file__))
B, T, LOGITS = 2, 70, 8
SHAPE = {"n_layer": 2, "n_head": 2, "n_embd": 24, "n_inner": 40, "n_positions": 72, "vocab_size": 53,
         "layer_norm_epsilon": 1e-5, "tie_word_embeddings": True}
CASES = {
    "tied-tanh": {"tie_word_embeddings": True, "activation_function": "gelu_new"},
    "tied-erf": {"tie_word_embeddings": True, "activation_function": "gelu",
                 "scale_attn_by_inverse_layer_idx": True},
    "untied-tanh": {"tie_word_embeddings": False, "activation_function": "gelu_new",
                    "scale_attn_weights": False},
    "untied-erf": {"tie_word_embeddings": False, "activation_function": "gelu"},
    "relu": {"n_head": 8, "activation_function": "relu"},  # heads of 3
    "silu": {"n_head": 24, "activation_function": "silu"},  # heads of 1
    "quick-gelu": {"n_head": 1, "activation_function": "quick_gelu"},
    "tanh": {"activation_function": "tanh"},
    "few-heads": {"n_head": 2, "head_size": 5, "activation_function": "gelu_new"},
    "bfloat16": {"activation_function": "gelu_new"},  # of the factors of products
    "more-heads": {"n_head": 3, "head_size": 17, "activation_function": "gelu_new"},
}


def to_bfloat16(a):
    return a.to(torch.float32).to(torch.bfloat16).to(torch.float64)


class Rounded(torch.autograd.Function):
    """A product whose factors are rounded to bfloat16, and those of its gradients."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return to_bfloat16(a) @ to_bfloat16(b)

    @staticmethod
    def backward(ctx, d):
        a, b = map(to_bfloat16, ctx.saved_tensors)
        d = to_bfloat16(d)
        return d @ b.T, a.T @ d


def hashed(stream, n):
    """n numbers of 24 bits."""
    h = np.arange(n, dtype=np.uint64) + np.uint64(stream) * np.uint64(1000003)
    h = (h * np.uint64(2654435761)) & np.uint64(0xFFFFFFFF)
    h ^= h >> np.uint64(15)
    h = (h * np.uint64(2246822519)) & np.uint64(0xFFFFFFFF)
    h ^= h >> np.uint64(13)
    return h >> np.uint64(8)


def tensors(config):
    """Name and shape of each, in the order of the table of tensors."""
    C, F, V = config["n_embd"], config["n_inner"], config["vocab_size"]
    A = config["n_head"] * config["head_size"] if "head_size" in config else C
    yield "wte.weight", (V, C)
    yield "wpe.weight", (config["n_positions"], C)
    for i in range(config["n_layer"]):
        p = f"h.{i}."
        yield p + "ln_1.weight", (C,)
        yield p + "ln_1.bias", (C,)
        yield p + "attn.c_attn.weight", (C, 3 * A)
        yield p + "attn.c_attn.bias", (3 * A,)
        yield p + "attn.c_proj.weight", (A, C)
        yield p + "attn.c_proj.bias", (C,)
        yield p + "ln_2.weight", (C,)
        yield p + "ln_2.bias", (C,)
        yield p + "mlp.c_fc.weight", (C, F)
        yield p + "mlp.c_fc.bias", (F,)
        yield p + "mlp.c_proj.weight", (F, C)
        yield p + "mlp.c_proj.bias", (C,)
    yield "ln_f.weight", (C,)
    yield "ln_f.bias", (C,)
    if not config["tie_word_embeddings"]:
        yield "lm_head.weight", (V, C)


def make(config):
    weights = {}
    for i, (name, shape) in enumerate(tensors(config)):
        a = hashed(i + 1, int(np.prod(shape))).astype(np.float64) / 2**24 - 0.5
        a += "ln_" in name and name.endswith("weight")
        weights[name] = torch.tensor(a.reshape(shape), requires_grad=True)
    return weights


def main():
    os.makedirs(os.path.join(HERE, "training"), exist_ok=True)
    for name, settings in CASES.items():
        config = {**SHAPE, **settings}
        V = config["vocab_size"]
        weights = make(config)
        ids = (hashed(100, B * T) % np.uint64(V)).astype(np.int64).reshape(B, T)
        labels = (hashed(101, B * T) % np.uint64(V)).astype(np.int64).reshape(B, T)
        labels[(hashed(102, B * T) % np.uint64(7) == 0).reshape(B, T)] = -100
        product = Rounded.apply if name == "bfloat16" else torch.matmul
        logits = torch.cat([forward(config, weights, list(row), torch.float64, product=product)[0]
                            for row in ids])
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor(labels).reshape(-1))
        loss.backward()
        parts = [loss.detach().reshape(1), logits[-LOGITS:].detach().reshape(-1)]
        parts += [w.grad.reshape(-1) for w in weights.values()]
        torch.cat(parts).to(torch.float32).numpy().tofile(os.path.join(HERE, "training", name + ".f32"))
        print(name, float(loss))


if __name__ == "__main__":
    main()
