#!/usr/bin/python3
"""Tiny models in the files of other programs, and their logits by plain PyTorch in float64.

    tests/golden/foreign_reference.py      (PyTorch 1.13, NumPy)

Makes tests/golden/foreign/KIND*/ with the files as those programs write them, ids.json, and
logits.f32: float64 logits [ids,V], rounded to float32. tests/unit/weights/test_foreign.c loads them.
"""
import json
import math
import os

import numpy as np
import torch

from gpt2_reference import HERE, forward

PARENT = os.path.join(HERE, "foreign")


def random_weights(seed, config, std=0.3):
    """GPT-2's tensors, by the names and shapes ([in,out]) of Hugging Face."""
    rng = np.random.default_rng(seed)
    C, V = config["n_embd"], config["vocab_size"]
    A = config["n_head"] * config.get("head_size", C // config["n_head"])
    F = config.get("n_inner") or 4 * C
    w = {"wte.weight": rng.normal(0, 0.5, (V, C)), "wpe.weight": rng.normal(0, std, (config["n_positions"], C))}
    for i in range(config["n_layer"]):
        p = f"h.{i}."
        for norm in "ln_1", "ln_2":
            w[p + norm + ".weight"] = rng.normal(1, std, C)
            w[p + norm + ".bias"] = rng.normal(0, std, C)
        for name, n_in, n_out in ("attn.c_attn", C, 3 * A), ("attn.c_proj", A, C), \
                                 ("mlp.c_fc", C, F), ("mlp.c_proj", F, C):
            w[p + name + ".weight"] = rng.normal(0, 1 / math.sqrt(n_in), (n_in, n_out))
            w[p + name + ".bias"] = rng.normal(0, std, n_out)
    w["ln_f.weight"] = rng.normal(1, std, C)
    w["ln_f.bias"] = rng.normal(0, std, C)
    if not config.get("tie_word_embeddings", True):
        w["lm_head.weight"] = rng.normal(0, 0.5, (V, C))
    return {name: torch.tensor(a, dtype=torch.float32) for name, a in w.items()}


def is_matrix(name):
    return name.endswith("weight") and (".attn." in name or ".mlp." in name)


def open_folder(name):
    folder = os.path.join(PARENT, name)
    os.makedirs(folder, exist_ok=True)
    return folder


def write_logits(folder, config, weights, seed=0):
    ids = [int(i) for i in np.random.default_rng(seed).integers(0, config["vocab_size"], config["n_positions"])]
    logits, _ = forward(config, weights, ids, torch.float64)
    with open(os.path.join(folder, "ids.json"), "w") as f:
        f.write(json.dumps(ids) + "\n")
    logits.detach().to(torch.float32).numpy().tofile(os.path.join(folder, "logits.f32"))
    print(folder, "largest logit %.3g" % logits.abs().max())


SMALL = {"n_layer": 2, "n_head": 2, "n_embd": 12, "n_positions": 20, "vocab_size": 37,
         "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new"}


# ---- llm.c: train_gpt2.py's write_model, and gpt2_write_to_checkpoint ----

def write_llmc(version, seed):
    folder, config = open_folder(f"llmc-{version}"), SMALL
    weights = random_weights(seed, config)
    bf16 = version == 5
    if bf16:
        weights = {name: t.to(torch.bfloat16).float() for name, t in weights.items()}
    padded = config["vocab_size"] if version == 1 else -(-config["vocab_size"] // 128) * 128
    header = np.zeros(256, np.int32)
    header[:7] = [20240326, version, config["n_positions"], config["vocab_size"], config["n_layer"],
                  config["n_head"], config["n_embd"]]
    header[7] = 0 if version == 1 else padded
    wte = torch.zeros(padded, config["n_embd"])
    wte[: config["vocab_size"]] = weights["wte.weight"]
    order = [wte, weights["wpe.weight"]]
    for kind in ("ln_1.weight", "ln_1.bias", "attn.c_attn.weight", "attn.c_attn.bias", "attn.c_proj.weight",
                 "attn.c_proj.bias", "ln_2.weight", "ln_2.bias", "mlp.c_fc.weight", "mlp.c_fc.bias",
                 "mlp.c_proj.weight", "mlp.c_proj.bias"):
        for i in range(config["n_layer"]):
            t = weights[f"h.{i}.{kind}"]
            order.append(t.T if is_matrix(f"h.{i}.{kind}") else t)
    order += [weights["ln_f.weight"], weights["ln_f.bias"]]
    with open(os.path.join(folder, "model.bin"), "wb") as f:
        f.write(header.tobytes())
        for t in order:
            t = t.contiguous()
            f.write((t.to(torch.bfloat16).view(torch.int16) if bf16 else t).numpy().tobytes())
    write_logits(folder, config, weights)


def main():
    for version in 1, 3, 5:
        write_llmc(version, version)


if __name__ == "__main__":
    main()
