#!/usr/bin/python3
"""Questions with several endings, and how far one model is from another, by plain PyTorch in float64.

    tests/golden/comparison_reference.py          (PyTorch 1.13, NumPy, regex)
        makes tests/golden/comparison/: a tiny model with the vocabulary of tests/golden/tokenizer,
        questions, and what they and the text of that vocabulary give

    tests/golden/comparison_reference.py choice MODEL FILE.jsonl [as-written]
    tests/golden/comparison_reference.py kl MODEL OTHER TEXT [SEQ_LENGTH STRIDE]
        print the same figures of folders in Hugging Face's layout with model.safetensors, vocab.json
        and merges.txt

Questions are scored as lm-eval 0.4 does (hellaswag, acc and acc_norm); "token" is the mean over the
tokens of an ending, as hellaswag.py of build-nanogpt and llm.c has it.
"""
import json
import os
import random
import re
import sys

import numpy as np
import torch

from gpt2_reference import forward, make_tiny, read_safetensors
from tokenizer_oracle import TEXT, Tokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "comparison")


class Model:
    def __init__(self, folder, vocabulary=None, **settings):
        read = lambda name, where=folder: open(os.path.join(where, name), encoding="utf-8").read()
        self.config = {**json.loads(read("config.json")), **settings}
        self.weights = read_safetensors(os.path.join(folder, "model.safetensors"))
        merges = [tuple(line.split(" ")) for line in read("merges.txt", vocabulary or folder).split("\n")
                  if line and not line.startswith("#version")]
        self.vocab = json.loads(read("vocab.json", vocabulary or folder))
        self.encode = Tokenizer(self.vocab, merges).encode
        self.n_ctx = self.config["n_positions"]

    def log_probs(self, ids, rows=slice(None)):
        with torch.no_grad():
            return torch.log_softmax(forward(self.config, self.weights, ids, torch.float64)[0][rows], -1)


# ---- questions ----

def preprocess(text):
    """lm-eval's, of hellaswag."""
    text = text.strip().replace(" [title]", ". ")
    return re.sub("\\[.*?\\]", "", text).replace("  ", " ")


def read_question(line, prepare):
    """Context, endings, number of the right one."""
    doc = json.loads(line)
    endings = doc.get("endings", doc.get("choices"))
    label = next(doc[k] for k in ("label", "answer", "gold") if k in doc)
    label = endings.index(label) if label in endings else int(label)
    if prepare and "activity_label" in doc and "ctx_a" in doc:
        context = doc["ctx_a"] + " " + doc.get("ctx_b", "").capitalize()
        return preprocess(doc["activity_label"] + ": " + context), [preprocess(e) for e in endings], label
    context = next((doc[k] for k in ("ctx", "context", "prompt") if k in doc), None)
    if context is None:
        context = doc["ctx_a"] + (" " + doc["ctx_b"] if doc.get("ctx_b") else "")
    return context, endings, label


def encode_pair(model, context, continuation):
    """lm-eval's _encode_pair, and what it gives for an empty context."""
    if context == "":
        return [model.vocab["<|endoftext|>"]], model.encode(continuation)
    n_spaces = len(context) - len(context.rstrip())
    if n_spaces > 0:
        continuation = context[-n_spaces:] + continuation
        context = context[:-n_spaces]
    whole, head = model.encode(context + continuation), model.encode(context)
    return head, whole[len(head):]


def choice(model, lines, prepare=True):
    n, hits, left_out, total, scores = 0, {"sum": 0, "character": 0, "token": 0}, 0, 0.0, []
    for line in lines:
        context, endings, label = read_question(line, prepare)
        pairs = [encode_pair(model, context, " " + e) for e in endings]
        if any(len(tail) > model.n_ctx for head, tail in pairs):
            left_out += 1
            continue
        sums = []
        for head, tail in pairs:
            ids = (head + tail)[-(model.n_ctx + 1):]
            p = model.log_probs(ids[:-1], slice(-len(tail), None))
            sums.append(float(p[range(len(tail)), tail].sum()))
        by = {"sum": sums, "character": [s / max(1, len(e)) for s, e in zip(sums, endings)],
              "token": [s / len(tail) for s, (_, tail) in zip(sums, pairs)]}
        for name, values in by.items():
            ranked = sorted(values)
            assert ranked[-1] - ranked[-2] > 1e-5, "a tie"
            hits[name] += values.index(ranked[-1]) == label
        n += 1
        total += sum(sums)
        scores.append(sums)
    return {"questions": n, "left_out": left_out, "log_prob": total, **hits}


# ---- two models ----

def windows(n_tokens, T, stride):
    """First input, inputs, first target that counts."""
    at, scored = 0, 1
    while scored < n_tokens:
        end = min(at + T, n_tokens - 1)
        first = 1 if at == 0 else at + T - stride + 1
        if first <= end:
            yield at, end - at, first
            scored = end + 1
        at += stride


def percentile_error(values, p):
    """Woodruff 1952; None where an end is beyond the sample."""
    error = (p * (1 - p) / len(values))**0.5
    if p - error < 0 or p + error > 1:
        return None
    return float(np.percentile(values, 100 * (p + error)) - np.percentile(values, 100 * (p - error))) / 2


def kl(model, other, ids, T, stride):
    divergence, same, losses = [], 0, []
    for at, n, first in windows(len(ids), T, stride):
        rows = slice(first - at - 1, n)
        p, q = (m.log_probs(ids[at:at + n], rows) for m in (model, other))
        targets = ids[first:at + n + 1]
        divergence += (q.exp() * (q - p)).sum(-1).tolist()
        same += int((p.argmax(-1) == q.argmax(-1)).sum())
        losses += [(-float(p[i, t]), -float(q[i, t])) for i, t in enumerate(targets)]
    d, loss = np.array(divergence), np.array(losses)
    change, n = loss[:, 0] - loss[:, 1], len(d)
    assert n == len(ids) - 1
    return {"targets": n, "mean": d.mean(), "error": d.std(ddof=1) / n**0.5,
            **{f"p{p:g}": np.percentile(d, p) for p in (50, 90, 95, 99, 99.9, 100)},
            **{f"p{100 * p:g}_error": percentile_error(d, p) for p in (0.5, 0.9, 0.95, 0.99, 0.999)},
            "loss_error": loss[:, 0].std(ddof=1) / n**0.5, "other_loss_error": loss[:, 1].std(ddof=1) / n**0.5,
            "same_top": same, "loss": loss[:, 0].mean(), "other_loss": loss[:, 1].mean(),
            "change": change.mean(), "change_error": change.std(ddof=1) / n**0.5}


# ---- what the tests compare with ----

def make_questions(rng):
    sentences = [s.strip() for s in re.split(r"[.\n;]", TEXT) if len(s.strip()) > 12]
    words = TEXT.split()
    some = lambda least, most: " ".join(rng.choice(words) for _ in range(rng.randint(least, most)))
    for i in range(40):
        endings = [some(1, 9) + rng.choice([".", "", "!"]) for _ in range(rng.randint(2, 5))]
        label = rng.randrange(len(endings))
        context = rng.choice(sentences)
        if i % 4 == 0:
            yield {"ind": i, "activity_label": "At sea", "ctx_a": context + " [header] how [title] to sail.",
                   "ctx_b": rng.choice(["", "the SEA", "\u00e9t\u00e9 la mer"]), "ctx": "not read",
                   "endings": [e + " [substeps]  " + some(1, 3) for e in endings], "label": str(label)}
        elif i % 4 == 1:
            yield {"ctx": context, "endings": endings, "label": label}
        elif i % 4 == 2:
            yield {"prompt": context + "  ", "choices": endings, "answer": endings[label]}
        else:
            yield {"context": "" if i % 8 == 3 else context, "choices": endings, "gold": label}
    yield {"context": some(90, 90), "choices": [some(2, 2), some(3, 3)], "gold": 1}  # the front is cut
    yield {"context": "Too long", "choices": [some(99, 99), "short"], "gold": 1}


def make():
    make_tiny("comparison", 6, np.float16, n_embd=16, n_head=2, vocab_size=507,
              bos_token_id=506, eos_token_id=506)
    for name in "logits.f32", "hidden.f32", "reference.json":
        os.remove(os.path.join(FOLDER, name))
    lines = [json.dumps(q) for q in make_questions(random.Random(8))]
    open(os.path.join(FOLDER, "questions.jsonl"), "w").write("\n".join(lines) + "\n")
    open(os.path.join(FOLDER, "text.txt"), "w", encoding="utf-8").write(TEXT)
    vocabulary = os.path.join(HERE, "tokenizer")
    model, near, far = (Model(FOLDER, vocabulary, **s) for s in (
        {}, {"activation_function": "gelu"}, {"scale_attn_by_inverse_layer_idx": True}))
    ids = model.encode(TEXT)
    out = {"choice": choice(model, lines), "choice_as_written": choice(model, lines, prepare=False)}
    for name, other in ("near", near), ("far", far):
        out["kl_" + name] = kl(model, other, ids, 48, 16)
    with open(os.path.join(FOLDER, "reference.json"), "w") as f:
        f.write(",\n".join(json.dumps({k: v})[1:-1] for k, v in out.items()).join("{}") + "\n")
    print(json.dumps(out, indent=1))


def main():
    if len(sys.argv) == 1:
        make()
    elif sys.argv[1] == "choice":
        lines = open(sys.argv[3], encoding="utf-8").read().splitlines()
        print(json.dumps(choice(Model(sys.argv[2]), [l for l in lines if l.strip()], len(sys.argv) < 5)))
    else:
        model, other = Model(sys.argv[2]), Model(sys.argv[3])
        ids = model.encode(open(sys.argv[4], encoding="utf-8").read())
        T = int(sys.argv[5]) if len(sys.argv) > 5 else model.n_ctx
        print(json.dumps(kl(model, other, ids, T, int(sys.argv[6]) if len(sys.argv) > 6 else T // 2)))


main()
