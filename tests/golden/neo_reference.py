#!/usr/bin/python3
"""GPT-Neo in plain PyTorch, written out by hand, and the numbers the tests compare with.

    tests/golden/neo_reference.py      (PyTorch 1.13, NumPy)

Makes the tiny models tests/golden/tiny-neo-*/ (Hugging Face layout, fixed seed) with what
gpt2_reference.py writes for each, and tests/golden/training/neo-*.f32 as training_reference.py does.
"""
import json
import math
import os

import numpy as np
import torch

from gpt2_reference import HERE, activation, layer_norm, read_safetensors, write_reference, \
    write_safetensors
from training_reference import hashed, tensors


def forward(config, weights, ids, dtype, kept=lambda a: a):
    """Logits [T,V] and hidden states: those of GPTNeoForCausalLM, whose scores are not scaled and
    whose local layers see the last window_size positions."""
    w = {name: t.to(dtype) for name, t in weights.items()}
    C, H, T = config["hidden_size"], config["num_heads"], len(ids)
    D, epsilon = C // H, config["layer_norm_epsilon"]
    kinds = [kind for kinds, times in config["attention_types"] for _ in range(times) for kind in kinds]
    x = w["wte.weight"][ids] + w["wpe.weight"][:T]
    hidden = [x]
    behind = torch.arange(T)[:, None] - torch.arange(T)[None, :]
    for i, kind in enumerate(kinds):
        p = f"h.{i}."
        a = layer_norm(x, w[p + "ln_1.weight"], w[p + "ln_1.bias"], epsilon)
        q, k, v = ((a @ w[f"{p}attn.attention.{n}_proj.weight"].T).view(T, H, D).transpose(0, 1)
                   for n in "qkv")
        unseen = behind < 0
        if kind == "local":
            unseen = unseen | (behind >= config["window_size"])
        att = torch.softmax((q @ k.transpose(1, 2)).masked_fill(unseen, float("-inf")), -1) @ v
        att = att.transpose(0, 1).reshape(T, C)
        x = x + att @ w[p + "attn.attention.out_proj.weight"].T + w[p + "attn.attention.out_proj.bias"]
        a = layer_norm(x, w[p + "ln_2.weight"], w[p + "ln_2.bias"], epsilon)
        a = a @ w[p + "mlp.c_fc.weight"].T + w[p + "mlp.c_fc.bias"]
        a = activation(a, config["activation_function"])
        x = x + a @ w[p + "mlp.c_proj.weight"].T + w[p + "mlp.c_proj.bias"]
        hidden.append(x)
    x = layer_norm(x, w["ln_f.weight"], w["ln_f.bias"], epsilon)
    return x @ w.get("lm_head.weight", w["wte.weight"]).T, hidden


def shapes(config):
    """Name, shape and fan-in (0: a vector) of each tensor, without "transformer."."""
    C, F = config["hidden_size"], config["intermediate_size"] or 4 * config["hidden_size"]
    yield "wte.weight", (config["vocab_size"], C), 0
    yield "wpe.weight", (config["max_position_embeddings"], C), 0
    for i in range(config["num_layers"]):
        p = f"h.{i}."
        for norm in "ln_1", "ln_2":
            yield p + norm + ".weight", (C,), 0
            yield p + norm + ".bias", (C,), 0
        for n in "kvq":
            yield f"{p}attn.attention.{n}_proj.weight", (C, C), C
        yield p + "attn.attention.out_proj.weight", (C, C), C
        yield p + "attn.attention.out_proj.bias", (C,), 0
        for name, n_out, n_in in ("c_fc", F, C), ("c_proj", C, F):
            yield f"{p}mlp.{name}.weight", (n_out, n_in), n_in
            yield f"{p}mlp.{name}.bias", (n_out,), 0
    yield "ln_f.weight", (C,), 0
    yield "ln_f.bias", (C,), 0
    if not config["tie_word_embeddings"]:
        yield "lm_head.weight", (config["vocab_size"], C), C


def make_tiny(name, seed, dtype, pickled=False, **settings):
    rng = np.random.default_rng(seed)
    config = {"architectures": ["GPTNeoForCausalLM"], "model_type": "gpt_neo",
              "intermediate_size": None, "max_position_embeddings": 80,
              "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
              "attention_dropout": 0, "embed_dropout": 0, "resid_dropout": 0,
              "initializer_range": 0.02, "bos_token_id": 0, "eos_token_id": 0}
    config.update(settings)
    tensors = {}
    for key, shape, n_in in shapes({"tie_word_embeddings": True, **config}):
        norm = "ln_" in key and key.endswith("weight")
        std = 1 / math.sqrt(n_in) if n_in else 0.3
        if "q_proj" in key or "k_proj" in key:  # without the scale of scores, smaller by its root
            std /= (config["hidden_size"] // config["num_heads"]) ** 0.25
        tensors[("" if key == "lm_head.weight" else "transformer.") + key] = \
            rng.normal(1.0 if norm else 0.0, std, shape).astype(dtype)
    folder = os.path.join(HERE, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(config, f, indent=1)
        f.write("\n")
    if pickled:
        n = config["max_position_embeddings"]
        state = {key: torch.tensor(a) for key, a in tensors.items()}
        # What files of before 2023 carry, in every layer.
        state["transformer.h.0.attn.attention.bias"] = torch.ones(1, 1, n, n, dtype=torch.uint8).tril()
        state["transformer.h.0.attn.attention.masked_bias"] = torch.tensor(-1e9)
        torch.save(state, os.path.join(folder, "pytorch_model.bin"))
        weights = {key.removeprefix("transformer."): torch.tensor(a) for key, a in tensors.items()}
    else:
        write_safetensors(os.path.join(folder, "model.safetensors"), tensors)
        weights = read_safetensors(os.path.join(folder, "model.safetensors"))
    n = config["max_position_embeddings"]
    ids = [int(i) for i in rng.integers(0, config["vocab_size"], n)]
    positions = list(range(n)) if n <= 80 else sorted({*range(0, n, 7), n - 1})
    write_reference(folder, config, weights, ids, positions, 8, forward=forward)


# A sequence of three pages and a bit; windows of a part of one, across two, and of a position alone.
TRAINING = {"n_layer": 2, "n_head": 2, "n_embd": 24, "n_inner": 40, "n_positions": 200, "vocab_size": 53,
            "layer_norm_epsilon": 1e-5, "tie_word_embeddings": True}
TRAINING_CASES = {"neo-part": ("local", "global", 20), "neo-across": ("local", "local", 90),
                  "neo-alone": ("global", "local", 1)}


def neo_weights(weights, C):
    """Of the table's tensors, GPT-Neo's; gradients flow back through them."""
    neo = {}
    for name, t in weights.items():
        if name.endswith("attn.c_attn.weight"):
            for i, n in enumerate("qkv"):
                part = t[:, i * C : (i + 1) * C].T
                neo[name.replace("attn.c_attn", f"attn.attention.{n}_proj")] = part
        elif "c_fc.weight" in name or "c_proj.weight" in name:
            neo[name.replace("attn.c_proj", "attn.attention.out_proj")] = t.T
        else:
            neo[name.replace("attn.c_proj", "attn.attention.out_proj")] = t
    return neo


def write_training():
    """For each case the mean loss and its gradient, tensors in the order of the table."""
    C, T, V = TRAINING["n_embd"], TRAINING["n_positions"], TRAINING["vocab_size"]
    for case, (first, second, window) in TRAINING_CASES.items():
        config = {"hidden_size": C, "num_heads": 2, "layer_norm_epsilon": 1e-5, "window_size": window,
                  "attention_types": [[[first, second], 1]], "activation_function": "gelu_new"}
        names = [row for row in tensors(TRAINING) if not row[0].endswith("attn.c_attn.bias")]
        weights = {}
        for i, (name, shape) in enumerate(names):
            a = hashed(i + 1, int(np.prod(shape))).astype(np.float64) / 2**24 - 0.5
            a += "ln_" in name and name.endswith("weight")
            weights[name] = torch.tensor(a.reshape(shape), requires_grad=True)
        ids = (hashed(100, 2 * T) % np.uint64(V)).astype(np.int64).reshape(2, T)
        labels = (hashed(101, 2 * T) % np.uint64(V)).astype(np.int64)
        neo = neo_weights(weights, C)
        logits = torch.cat([forward(config, neo, list(row), torch.float64)[0] for row in ids])
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor(labels))
        loss.backward()
        parts = [loss.detach().reshape(1)] + [w.grad.reshape(-1) for w in weights.values()]
        torch.cat(parts).to(torch.float32).numpy().tofile(
            os.path.join(HERE, "training", case + ".f32"))
        print(case, float(loss))


def main():
    write_training()
    # Windows below a tile of rows, of more than a page, and of a whole page with heads of 128.
    make_tiny("tiny-neo-narrow", 21, np.float32, hidden_size=16, num_heads=2, num_layers=4, vocab_size=61,
              window_size=3, attention_types=[[["global", "local"], 2]], intermediate_size=24)
    make_tiny("tiny-neo-pages", 22, np.float32, pickled=True, hidden_size=12, num_heads=4, num_layers=3,
              vocab_size=37, window_size=70, max_position_embeddings=200,
              attention_types=[[["local"], 2], [["global"], 1]])
    make_tiny("tiny-neo-heads", 23, np.float16, hidden_size=128, num_heads=1, num_layers=1, vocab_size=19,
              window_size=64, max_position_embeddings=130, intermediate_size=16,
              attention_types=[[["local"], 1]])


if __name__ == "__main__":
    main()
