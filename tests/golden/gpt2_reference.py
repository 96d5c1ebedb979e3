#!/usr/bin/python3
"""GPT-2 in plain PyTorch, written out by hand, and the numbers the tests compare with.

    tests/golden/gpt2_reference.py [DATA]      (PyTorch 1.13, NumPy)

Makes the tiny models tests/golden/tiny-*/ (Hugging Face layout, fixed seed) and for
each, and with DATA also for the models of DATA/weights, beside config.json or in
tests/golden/NAME:

    reference.json   ids fed, positions of logits and of hidden states, 64 greedy ids after the prompt by
                     float32, and for each the margin between the top two logits
    logits.f32       float64 logits [positions,V], rounded to float32
    hidden.f32       float64 hidden states [layers + 1,hidden positions,C]: after the
                     embedding, and after each layer
"""
import json
import math
import os
import struct
import sys

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))


def read_safetensors(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    types = {"F32": np.float32, "F16": np.float16}
    tensors = {}
    for name, t in json.loads(data[8 : 8 + n]).items():
        if name == "__metadata__" or t["dtype"] not in types:
            continue
        first, last = t["data_offsets"]
        a = np.frombuffer(data[8 + n + first : 8 + n + last], types[t["dtype"]])
        tensors[name.removeprefix("transformer.")] = torch.tensor(a.reshape(t["shape"]).copy())
    return tensors


def write_safetensors(path, tensors):
    header, blobs, at = {"__metadata__": {"format": "pt"}}, [], 0
    for name, a in tensors.items():
        blob = a.tobytes()
        dtype = {"float32": "F32", "float16": "F16"}[a.dtype.name]
        header[name] = {"dtype": dtype, "shape": list(a.shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def layer_norm(x, weight, bias, epsilon):
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    return (x - mean) / torch.sqrt(variance + epsilon) * weight + bias


def activation(x, kind):
    return {
        "gelu_new": lambda: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        "gelu": lambda: 0.5 * x * (1 + torch.erf(x / math.sqrt(2))),
        "relu": lambda: torch.relu(x),
        "silu": lambda: x * torch.sigmoid(x),
        "quick_gelu": lambda: x * torch.sigmoid(1.702 * x),
        "tanh": lambda: torch.tanh(x),
    }[kind]()


def forward(config, weights, ids, dtype, kept=lambda a: a, product=torch.matmul):
    """Logits [T,V] and hidden states, [T,C] each: the embedding, then every layer's. What a
    backward needs of a layer goes through `kept`, products with weights through `product`."""
    w = {name: t.to(dtype) for name, t in weights.items()}
    C, H, T = config["n_embd"], config["n_head"], len(ids)
    D, epsilon = config.get("head_size", C // H), config["layer_norm_epsilon"]
    x = kept(w["wte.weight"][ids] + w["wpe.weight"][:T])
    hidden = [x]
    unseen = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)
    for i in range(config["n_layer"]):
        p = f"h.{i}."
        a = layer_norm(x, w[p + "ln_1.weight"], w[p + "ln_1.bias"], epsilon)
        qkv = kept(product(a, w[p + "attn.c_attn.weight"]) + w[p + "attn.c_attn.bias"])
        q, k, v = (t.view(T, H, D).transpose(0, 1) for t in qkv.split(H * D, dim=1))
        scores = q @ k.transpose(1, 2)
        if config.get("scale_attn_weights", True):
            scores = scores / math.sqrt(D)
        if config.get("scale_attn_by_inverse_layer_idx", False):
            scores = scores / (i + 1)
        att = torch.softmax(scores.masked_fill(unseen, float("-inf")), -1) @ v
        att = kept(att.transpose(0, 1).reshape(T, H * D))
        x = kept(x + product(att, w[p + "attn.c_proj.weight"]) + w[p + "attn.c_proj.bias"])
        a = layer_norm(x, w[p + "ln_2.weight"], w[p + "ln_2.bias"], epsilon)
        a = kept(product(a, w[p + "mlp.c_fc.weight"]) + w[p + "mlp.c_fc.bias"])
        a = activation(a, config["activation_function"])
        x = kept(x + product(a, w[p + "mlp.c_proj.weight"]) + w[p + "mlp.c_proj.bias"])
        hidden.append(x)
    x = layer_norm(x, w["ln_f.weight"], w["ln_f.bias"], epsilon)
    head = w.get("lm_head.weight")
    if head is None or config.get("tie_word_embeddings", True):
        head = w["wte.weight"]
    return product(x, head.T), hidden


def write_reference(folder, config, weights, ids, positions, n_prompt, n_greedy=64, forward=forward):
    watched = [0, 1, 63, 64, len(ids) - 1]
    logits, hidden = forward(config, weights, ids, torch.float64)
    text, margins = list(ids[:n_prompt]), []
    while len(text) < n_prompt + n_greedy:
        top = torch.topk(forward(config, weights, text, torch.float32)[0][-1], 2)
        text.append(int(top.indices[0]))
        margins.append(float(top.values[0] - top.values[1]))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "reference.json"), "w") as f:
        reference = {"ids": ids, "positions": positions, "hidden_positions": watched,
                     "prompt": ids[:n_prompt],
                     "greedy": text[n_prompt:], "margins": [float(f"{m:.4g}") for m in margins]}
        f.write(",\n".join(json.dumps({k: v})[1:-1] for k, v in reference.items()).join("{}") + "\n")
    logits[positions].to(torch.float32).numpy().tofile(os.path.join(folder, "logits.f32"))
    hidden = torch.stack(hidden)[:, watched]
    hidden.to(torch.float32).numpy().tofile(os.path.join(folder, "hidden.f32"))
    print(folder, "largest logit %.3g, least margin %.3g" % (logits.abs().max(), min(margins)))


def make_tiny(name, seed, dtype, prefix="", **settings):
    rng = np.random.default_rng(seed)
    config = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_layer": 2, "n_inner": None,
              "n_positions": 80, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
              "tie_word_embeddings": True, "scale_attn_weights": True,
              "scale_attn_by_inverse_layer_idx": False, "bos_token_id": 0, "eos_token_id": 0}
    config.update(settings)
    C, V = config["n_embd"], config["vocab_size"]
    F = config["n_inner"] or 4 * C
    tensors = {}

    def add(key, *shape, mean=0.0, std=0.3):
        tensors[prefix + key] = rng.normal(mean, std, shape).astype(dtype)

    add("wte.weight", V, C, std=0.5)
    add("wpe.weight", config["n_positions"], C)
    for i in range(config["n_layer"]):
        p = f"h.{i}."
        for norm in "ln_1", "ln_2":
            add(p + norm + ".weight", C, mean=1.0)
            add(p + norm + ".bias", C)
        for key, n_in, n_out in ("attn.c_attn", C, 3 * C), ("attn.c_proj", C, C), \
                                ("mlp.c_fc", C, F), ("mlp.c_proj", F, C):
            add(p + key + ".weight", n_in, n_out, std=1 / math.sqrt(n_in))
            add(p + key + ".bias", n_out)
    add("ln_f.weight", C, mean=1.0)
    add("ln_f.bias", C)
    if not config["tie_word_embeddings"]:
        tensors["lm_head.weight"] = rng.normal(0, 0.5, (V, C)).astype(dtype)
    folder = os.path.join(HERE, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(config, f, indent=1)
        f.write("\n")
    write_safetensors(os.path.join(folder, "model.safetensors"), tensors)
    weights = read_safetensors(os.path.join(folder, "model.safetensors"))
    ids = [int(i) for i in rng.integers(0, V, 80)]
    write_reference(folder, config, weights, ids, list(range(80)), 8)


def main():
    make_tiny("tiny-tanh", 1, np.float32, prefix="transformer.", n_embd=16, n_head=2, vocab_size=97)
    make_tiny("tiny-erf", 2, np.float32, n_embd=20, n_head=1, n_layer=3, vocab_size=70, n_inner=33,
              activation_function="gelu", tie_word_embeddings=False,
              scale_attn_by_inverse_layer_idx=True)
    make_tiny("tiny-half", 3, np.float16, n_embd=48, n_head=3, n_layer=1, vocab_size=65, n_inner=47,
              layer_norm_epsilon=1e-6)
    make_tiny("tiny-plain", 4, np.float32, n_embd=20, n_head=5, n_layer=2, vocab_size=66,
              activation_function="gelu_new", scale_attn_weights=False, tie_word_embeddings=False)
    # Heads of 3, 1, 7 and 11.
    make_tiny("tiny-relu", 6, np.float32, n_embd=12, n_head=4, vocab_size=37, activation_function="relu")
    make_tiny("tiny-silu", 7, np.float32, n_embd=10, n_head=10, vocab_size=37, activation_function="silu")
    make_tiny("tiny-quick", 8, np.float32, n_embd=14, n_head=2, vocab_size=37,
              activation_function="quick_gelu")
    make_tiny("tiny-hyperbolic", 9, np.float32, n_embd=11, n_head=1, vocab_size=37,
              activation_function="tanh")
    if len(sys.argv) > 1:
        rng = np.random.default_rng(5)
        for name, count, n_prompt in ("SLM_4096", 128, 12), ("tiny-random-gpt2", 150, 12):
            folder = os.path.join(sys.argv[1], "weights", name)
            config = json.load(open(os.path.join(folder, "config.json")))
            weights = read_safetensors(os.path.join(folder, "model.safetensors"))
            if name == "SLM_4096":
                vocab = json.load(open(os.path.join(folder, "vocab.json")))
                ids = [vocab[{"\n": "\u010a", " ": "\u0120"}.get(c, c)]
                       for c in open(os.path.join(folder, "corpus.txt")).read()[:count]]
            else:
                ids = [int(i) for i in rng.integers(0, config["vocab_size"], count)]
            write_reference(os.path.join(HERE, name), config, weights, ids,
                            [0, 1, 63, 64, count - 1], n_prompt)


if __name__ == "__main__":
    main()
