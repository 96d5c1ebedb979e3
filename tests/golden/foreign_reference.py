#!/usr/bin/python3
"""Tiny models in the files of other programs, and their logits by plain PyTorch in float64.

    tests/golden/foreign_reference.py      (PyTorch 1.13, NumPy)

Makes tests/golden/foreign/KIND*/ with the files as those programs write them, ids.json, and
logits.f32: float64 logits [ids,V], rounded to float32. torch names the storages of its old format by
their addresses, so that those files (fairseq-old, dialogpt) differ from run to run. tests/unit/weights/test_foreign.c loads them.
"""
import argparse
import collections
import json
import math
import os
import pickle
import sys
import types

import numpy as np
import torch

from gpt2_reference import HERE, forward, read_safetensors, write_safetensors
from neo_reference import forward as neo_forward

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


# ---- nanoGPT: train.py's checkpoint, and data/shakespeare_char/prepare.py's meta.pkl ----

def linear_state(weights, prefix):
    """The state dict of modules of nn.Linear; the head is the embedding where there is none."""
    state = {prefix + "transformer." + name: (t.T.contiguous() if is_matrix(name) else t)
             for name, t in weights.items() if name != "lm_head.weight"}
    state[prefix + "lm_head.weight"] = weights.get("lm_head.weight", state[prefix + "transformer.wte.weight"])
    return state


def adam_state(n):
    return {"state": {0: {"step": torch.tensor(7.0), "exp_avg": torch.ones(n), "exp_avg_sq": torch.ones(n)}},
            "param_groups": [{"lr": 6e-4, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1,
                              "amsgrad": False, "foreach": None, "params": [0]}]}


def write_nanogpt(name, seed, bias, prefix="", characters=None, **settings):
    config = {**SMALL, "activation_function": "gelu", **settings}
    weights = random_weights(seed, config)
    state_of = dict(weights)
    if not bias:
        for key in list(weights):
            if key.endswith("bias"):
                weights[key] = torch.zeros_like(weights[key])
                del state_of[key]
    folder = open_folder(name)
    args = {"n_layer": config["n_layer"], "n_head": config["n_head"], "n_embd": config["n_embd"],
            "block_size": config["n_positions"], "bias": bias, "vocab_size": config["vocab_size"],
            "dropout": 0.2}
    torch.save({"model": linear_state(state_of, prefix), "optimizer": adam_state(4), "model_args": args,
                "iter_num": 250, "best_val_loss": torch.tensor(1.5),
                "config": {"out_dir": "out", "learning_rate": 6e-4, "compile": True, "seed": None}},
               os.path.join(folder, "ckpt.pt"))
    if characters:
        meta = {"vocab_size": len(characters), "itos": dict(enumerate(characters)),
                "stoi": {c: i for i, c in enumerate(characters)}}
        with open(os.path.join(folder, "meta.pkl"), "wb") as f:
            pickle.dump(meta, f)
    write_logits(folder, config, weights)


# ---- minGPT: projects/chargpt/chargpt.py ----

def write_mingpt(seed):
    config = {**SMALL, "tie_word_embeddings": False}
    weights = random_weights(seed, config)
    folder = open_folder("mingpt")
    state = linear_state(weights, "")
    n = config["n_positions"]
    for i in range(config["n_layer"]):
        state[f"transformer.h.{i}.attn.bias"] = torch.tril(torch.ones(n, n)).view(1, 1, n, n)
    torch.save(state, os.path.join(folder, "model.pt"))
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump({"system": {"seed": 3407, "work_dir": "./out/chargpt"}, "data": {"block_size": 128},
                   "model": {"model_type": None, "n_layer": 2, "n_head": 2, "n_embd": 12, "vocab_size": None,
                             "block_size": None, "embd_pdrop": 0.1}, "trainer": {}}, f, indent=4)
    write_logits(folder, config, weights)


# ---- Languini: lm_trainer.py's checkpoint, and its config.pickle of a munch.Munch ----

def write_languini(name, seed, heads, head_size):
    config = {**SMALL, "n_head": heads, "head_size": head_size, "n_inner": 20, "tie_word_embeddings": False}
    weights = random_weights(seed, config)
    A, C = heads * head_size, config["n_embd"]
    state = {"input_embedding.weight": weights["wte.weight"] / math.sqrt(C),
             "position_embedding.weight": weights["wpe.weight"], "linear.weight": weights["lm_head.weight"],
             "ln_f.weight": weights["ln_f.weight"], "ln_f.bias": weights["ln_f.bias"]}
    weights["wte.weight"] = state["input_embedding.weight"] * math.sqrt(C)
    for i in range(config["n_layer"]):
        h, p = f"h.{i}.", f"layers.{i}."
        for kind in "weight", "bias":
            qkv = weights[f"{h}attn.c_attn.{kind}"]
            for n, letter in enumerate("QKV"):
                part = qkv[..., n * A : (n + 1) * A]
                state[f"{p}attn.linear_{letter}.{kind}"] = part.T.contiguous() if kind == "weight" else part
            for ours, theirs in (("attn.c_proj", "attn.linear_O"), ("mlp.c_fc", "mlp.c_fc"),
                                 ("mlp.c_proj", "mlp.c_proj"), ("ln_1", "ln1"), ("ln_2", "ln2")):
                t = weights[f"{h}{ours}.{kind}"]
                state[f"{p}{theirs}.{kind}"] = t.T.contiguous() if is_matrix(f"{h}{ours}.{kind}") else t
        state[f"{p}attn.mask"] = torch.ones(1, 1, 2, 2)
    folder = open_folder(name)
    os.makedirs(os.path.join(folder, "checkpoints"), exist_ok=True)
    torch.save({"step": 5000, "model_state_dict": {"module._orig_mod." + key: t for key, t in state.items()},
                "opt_state_dict": adam_state(3)}, os.path.join(folder, "checkpoints", "model.pt"))
    munch = types.ModuleType("munch")

    class Munch(dict):
        def __getstate__(self):
            return dict(self)

    Munch.__module__, Munch.__qualname__ = "munch", "Munch"
    munch.Munch = Munch
    sys.modules["munch"] = munch
    with open(os.path.join(folder, "config.pickle"), "wb") as f:
        pickle.dump(Munch(vocab_size=config["vocab_size"], seq_len=config["n_positions"], max_lr=6e-4,
                          n_layers=2, h_dim=C, mlp_dim=20, head_dim=head_size, n_heads=heads,
                          use_flash=False, comment="", n_workers=1), f)
    write_logits(folder, config, weights)


# ---- fairseq: trainer.py's state_dict of a transformer_lm ----

def sinusoids(n, C):
    """SinusoidalPositionalEmbedding.get_embedding, from the position behind the padding's on."""
    half = C // 2
    step = math.log(10000) / (half - 1)
    freq = torch.exp(torch.arange(half, dtype=torch.float) * -step)
    angle = torch.arange(n + 2, dtype=torch.float).unsqueeze(1) * freq.unsqueeze(0)
    return torch.cat([torch.sin(angle), torch.cos(angle)], dim=1)[2:]


def write_fairseq(name, seed, learned, shared, scaled, namespace, legacy=False):
    config = {**SMALL, "activation_function": "gelu", "n_inner": 20, "tie_word_embeddings": False}
    weights = random_weights(seed, config)
    C, n = config["n_embd"], config["n_positions"]
    embedding = weights["wte.weight"]
    if scaled:
        weights["wte.weight"] = embedding * math.sqrt(C)
    if shared:
        weights["lm_head.weight"] = embedding
    if not learned:
        weights["wpe.weight"] = sinusoids(n, C)
    d = "decoder."
    state = {d + "version": torch.tensor([3.0]), d + "embed_tokens.weight": embedding,
             d + "output_projection.weight": embedding if shared else weights["lm_head.weight"],
             d + "layer_norm.weight": weights["ln_f.weight"], d + "layer_norm.bias": weights["ln_f.bias"]}
    if learned:
        state[d + "embed_positions.weight"] = torch.cat([torch.zeros(2, C), weights["wpe.weight"]])
    else:
        state[d + "embed_positions._float_tensor"] = torch.zeros(1)
    for i in range(config["n_layer"]):
        h, p = f"h.{i}.", f"{d}layers.{i}."
        for kind in "weight", "bias":
            qkv = weights[f"{h}attn.c_attn.{kind}"]
            for k, letter in enumerate("qkv"):
                part = qkv[..., k * C : (k + 1) * C]
                state[f"{p}self_attn.{letter}_proj.{kind}"] = part.T.contiguous() if kind == "weight" else part
            for ours, theirs in (("attn.c_proj", "self_attn.out_proj"), ("mlp.c_fc", "fc1"), ("mlp.c_proj", "fc2"),
                                 ("ln_1", "self_attn_layer_norm"), ("ln_2", "final_layer_norm")):
                t = weights[f"{h}{ours}.{kind}"]
                state[f"{p}{theirs}.{kind}"] = t.T.contiguous() if is_matrix(f"{h}{ours}.{kind}") else t
    args = {"_name": "transformer_lm_gpt", "arch": "transformer_lm_gpt", "decoder_embed_dim": C,
            "decoder_ffn_embed_dim": 20, "decoder_layers": 2, "decoder_attention_heads": 2,
            "decoder_learned_pos": learned, "activation_fn": "gelu", "dropout": 0.1, "attention_dropout": 0.1,
            "share_decoder_input_output_embed": shared, "no_scale_embedding": not scaled,
            "tokens_per_sample": n, "adaptive_softmax_cutoff": None, "adaptive_input": False, "lr": [6e-4]}
    args = argparse.Namespace(**args) if namespace else args
    checkpoint = {"args": None, "cfg": {"_name": None, "common": {"seed": 1, "fp16": True},
                                        "task": {"_name": "language_modeling", "tokens_per_sample": n}, "model": args},
                  "model": state, "criterion": None,
                  "optimizer_history": [{"criterion_name": "CrossEntropyCriterion", "num_updates": 100}],
                  "task_state": {}, "extra_state": {"metrics": collections.OrderedDict(), "val_loss": 3.5},
                  "last_optimizer_state": adam_state(5)}
    if legacy:  # before there was a cfg
        checkpoint["args"] = args
        del checkpoint["cfg"]
    folder = open_folder(name)
    torch.save(checkpoint, os.path.join(folder, "checkpoint_best.pt"), _use_new_zipfile_serialization=not legacy)
    write_logits(folder, config, weights)


# ---- GPT-2 of others on Hugging Face, with what their files have besides ----

def write_hub(name, seed, prefix, file, masks=None, head=False, dtype=torch.float32, legacy=False, **settings):
    config = {**SMALL, **settings}
    weights = {key: t.to(dtype) for key, t in random_weights(seed, config).items()}
    folder, n = open_folder(name), config["n_positions"]
    state = {prefix + key: t for key, t in weights.items()}
    for i in range(config["n_layer"] if masks else 0):
        state[f"{prefix}h.{i}.attn.bias"] = torch.tril(torch.ones(1, 1, n, n)).to(masks)
        state[f"{prefix}h.{i}.attn.masked_bias"] = torch.tensor(-1e4)
    if head:
        state["lm_head.weight"] = state[prefix + "wte.weight"]
    if file.endswith(".bin"):
        torch.save(state, os.path.join(folder, file), _use_new_zipfile_serialization=not legacy)
    else:
        write_safetensors(os.path.join(folder, file), {key: t.numpy() for key, t in state.items()})
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump({"model_type": "gpt2", **config}, f, indent=1)
    write_logits(folder, config, weights)


def write_hubs():
    classes = {"_num_labels": 1, "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0},
               "summary_activation": None, "summary_first_dropout": 0.1, "summary_proj_to_labels": True,
               "summary_type": "cls_index", "summary_use_proj": True, "architectures": ["GPT2LMHeadModel"],
               "bos_token_id": 50256, "eos_token_id": 50256, "initializer_range": 0.02, "n_ctx": 20}
    write_hub("distilgpt2", 21, "transformer.", "model.safetensors", masks=torch.float32, **classes,
              task_specific_params={"text-generation": {"do_sample": True, "max_length": 50}})
    write_hub("dialogpt", 22, "transformer.", "pytorch_model.bin", masks=torch.uint8, head=True,
              dtype=torch.float16, legacy=True, **classes,
              task_specific_params={"conversational": {"max_length": 1000}})
    write_hub("cerebras", 23, "transformer.", "pytorch_model.bin", head=True, activation_function="gelu",
              n_inner=48, scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False,
              reorder_and_upcast_attn=False, architectures=["GPT2Model"], use_cache=True, embd_pdrop=0.0,
              attn_pdrop=0.0, resid_pdrop=0.0, torch_dtype="float32")


# ---- PEFT's adapters of GPT-Neo: queries and values, or all modules, each with an A of its own ----

def write_neo_adapter(name, seed, modules, rank, alpha):
    rng = np.random.default_rng(seed)
    base = os.path.join(HERE, "tiny-neo-narrow")
    config = json.load(open(os.path.join(base, "config.json")))
    weights, tensors = read_safetensors(os.path.join(base, "model.safetensors")), {}
    for i in range(config["num_layers"]):
        for module in modules:
            key = f"h.{i}.{module}"
            n_out, n_in = weights[key + ".weight"].shape
            a, b = (rng.normal(0, 0.3, shape).astype(np.float32) for shape in ((rank, n_in), (n_out, rank)))
            tensors[f"base_model.model.transformer.{key}.lora_A.weight"] = a
            tensors[f"base_model.model.transformer.{key}.lora_B.weight"] = b
            merged = weights[key + ".weight"].double() + alpha / rank * torch.tensor(b).double() @ torch.tensor(a).double()
            weights[key + ".weight"] = merged
    folder = open_folder(name)
    write_safetensors(os.path.join(folder, "adapter_model.safetensors"), tensors)
    with open(os.path.join(folder, "adapter_config.json"), "w") as f:
        json.dump({"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": "../../tiny-neo-narrow",
                   "r": rank, "lora_alpha": alpha, "lora_dropout": 0.05, "bias": "none", "fan_in_fan_out": False,
                   "target_modules": [m.split(".")[-1] for m in modules]}, f, indent=1)
    ids = [int(i) for i in rng.integers(0, config["vocab_size"], 30)]
    logits, _ = neo_forward(config, weights, ids, torch.float64)
    with open(os.path.join(folder, "ids.json"), "w") as f:
        f.write(json.dumps(ids) + "\n")
    logits.to(torch.float32).numpy().tofile(os.path.join(folder, "logits.f32"))
    print(folder)


def main():
    write_neo_adapter("neo-adapter", 31, ("attn.attention.q_proj", "attn.attention.v_proj"), 2, 5)
    write_neo_adapter("neo-adapter-all", 32, ("attn.attention.k_proj", "attn.attention.q_proj",
                      "attn.attention.v_proj", "attn.attention.out_proj", "mlp.c_fc", "mlp.c_proj"), 3, 4)
    write_hubs()
    for version in 1, 3, 5:
        write_llmc(version, version)
    write_nanogpt("nanogpt", 11, bias=True)
    write_nanogpt("nanogpt-char", 12, bias=False, prefix="_orig_mod.", vocab_size=9, characters="\n !\"abcé")
    write_mingpt(13)
    write_languini("languini-few", 14, 3, 3)
    write_languini("languini-more", 15, 3, 7)
    write_fairseq("fairseq", 16, learned=False, shared=False, scaled=True, namespace=True)
    write_fairseq("fairseq-learned", 17, learned=True, shared=True, scaled=False, namespace=False)
    write_fairseq("fairseq-old", 18, learned=True, shared=True, scaled=True, namespace=True, legacy=True)


if __name__ == "__main__":
    main()
