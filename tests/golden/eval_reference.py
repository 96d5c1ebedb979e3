#!/usr/bin/python3
"""WikiText, PTB, LAMBADA and the split evaluation by plain PyTorch, as Megatron-LM's zeroshot_gpt and
Languini define them.

    tests/golden/eval_reference.py         (PyTorch 1.13, NumPy, regex)
        makes tests/golden/eval/: texts of our own, and what the model of tests/golden/comparison with
        the vocabulary of tests/golden/tokenizer gives for them, in float64
    tests/golden/eval_reference.py DATA
        makes tests/golden/eval/tiny-random-gpt2.json and SLM_4096.json: all of WikiText's test text and
        of LAMBADA under those models of DATA/weights, in float32. tiny-random-gpt2, which has no vocabulary, gets GPT-2's first 999
        tokens and <|endoftext|>; from the text for SLM_4096 go the bytes it lacks.
    tests/golden/eval_reference.py wikitext|ptb|lambada|strict|text MODEL FILE [SEQ_LENGTH [OVERLAP]]
        prints the figures of a folder in Hugging Face's layout with vocab.json and merges.txt
"""
import json
import math
import os
import random
import re
import sys

import numpy as np
import torch

from gpt2_reference import activation, layer_norm, read_safetensors
from tokenizer_oracle import SIGNS, Tokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "eval")


def read(*path):
    return open(os.path.join(*path), encoding="utf-8", newline="").read()


class Model:
    def __init__(self, folder, vocab, merges, dtype):
        self.config = json.loads(read(folder, "config.json"))
        self.w = {k: t.to(dtype) for k, t in read_safetensors(os.path.join(folder, "model.safetensors")).items()}
        self.vocab, self.encode = vocab, Tokenizer(vocab, merges).encode
        bytes_of = {c: b for b, c in SIGNS.items()}
        self.piece = {i: bytes(bytes_of[c] for c in t) for t, i in vocab.items() if t != "<|endoftext|>"}
        self.n_ctx = self.config["n_positions"]

    def log_probs(self, ids):
        """[B,T] -> [B,T,V]"""
        c, w = self.config, self.w
        B, T = ids.shape
        C, H = c["n_embd"], c["n_head"]
        x = w["wte.weight"][ids] + w["wpe.weight"][:T]
        unseen = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)
        for i in range(c["n_layer"]):
            p = f"h.{i}."
            a = layer_norm(x, w[p + "ln_1.weight"], w[p + "ln_1.bias"], c["layer_norm_epsilon"])
            qkv = a @ w[p + "attn.c_attn.weight"] + w[p + "attn.c_attn.bias"]
            q, k, v = (t.view(B, T, H, C // H).transpose(1, 2) for t in qkv.split(C, dim=-1))
            scores = (q @ k.transpose(-1, -2) / math.sqrt(C // H)).masked_fill(unseen, float("-inf"))
            att = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(B, T, C)
            x = x + att @ w[p + "attn.c_proj.weight"] + w[p + "attn.c_proj.bias"]
            a = layer_norm(x, w[p + "ln_2.weight"], w[p + "ln_2.bias"], c["layer_norm_epsilon"])
            a = a @ w[p + "mlp.c_fc.weight"] + w[p + "mlp.c_fc.bias"]
            a = activation(a, c["activation_function"])
            x = x + a @ w[p + "mlp.c_proj.weight"] + w[p + "mlp.c_proj.bias"]
        x = layer_norm(x, w["ln_f.weight"], w["ln_f.bias"], c["layer_norm_epsilon"])
        return torch.log_softmax(x @ w["wte.weight"].T, -1)

    def score(self, passages):
        """(ids, first target) of each -> [targets] of (log-probability, likeliest id, how many are likelier)."""
        at = 0
        while at < len(passages):
            part = passages[at:at + max(1, 2048 // len(passages[at][0]))]
            at += len(part)
            T = max(len(ids) for ids, _ in part) - 1
            inputs = torch.tensor([list(ids[:-1]) + [0] * (T + 1 - len(ids)) for ids, _ in part])
            with torch.no_grad():
                p = self.log_probs(inputs)
            for row, (ids, first) in zip(p, part):
                rows, targets = row[first - 1:len(ids) - 1], torch.tensor(ids[first:])
                mine = rows.gather(1, targets[:, None])[:, 0]
                yield [(float(a), int(b), int(n)) for a, b, n in
                       zip(mine, rows.argmax(-1), (rows > mine[:, None]).sum(-1))]


# ---- the rules of Megatron-LM's zero-shot evaluation, in their order ----

WIKITEXT = [
    ("s '", "s'"), (" @-@ ", "-"), (" @,@ ", ","), (" @.@ ", "."),
    *((f" {sign} ", f"{sign} ") for sign in ":;.!?,"),
    "()", "[]", "{}", '""', "''",  # blanks just inside
    ("= = = =", "===="), ("= = =", "==="), ("= =", "=="), (" \u00b0 ", "\u00b0"),
    (" \n", "\n"), ("\n ", "\n"), (" N ", " 1 "), (" 's", "'s"),
]
PTB = [(" '", "'"), (" \n", "\n"), ("\n ", "\n"), (" n't", "n't"), (" N ", "1 "), ("$ 1", "$1"),
       ("# 1", "#1")]


def detokenize(s, rules):
    for rule in rules:
        if isinstance(rule, str):  # a pair of signs: no blanks just inside
            begin, end = rule
            inside = rf"{re.escape(begin)}\s*([^{re.escape(end)}]*?)\s*{re.escape(end)}"
            s = re.sub(inside, lambda m: begin + m[1] + end, s)
        else:
            s = s.replace(*rule)
    return s


RULES = {"wikitext": WIKITEXT, "ptb": PTB, "raw": []}


# ---- datasets.py: windows, LAMBADA ----

def lm_windows(ids, T, overlap):
    """Its _LMDataset: padded samples with a mask; those whose mask is empty are left out."""
    n_targets, i, pad = len(ids) - 1, 0, None
    total = max(math.ceil(max(n_targets - overlap, 0) / overlap) + 1, 1)
    for i in range(total):
        sample = ids[i * overlap:i * overlap + T + 1]
        mask = [1] * (len(sample) - 1) + [0] * (T + 1 - len(sample))
        if i > 0:
            mask[:-overlap] = [0] * (T - overlap)
        if 1 in mask:
            first = mask.index(1) + 1
            assert mask[first - 1:len(sample) - 1] == [1] * (len(sample) - first), pad
            yield sample, first


def mean_error(x):
    x = np.array(x, dtype=np.float64)
    return float(x.std(ddof=1) / math.sqrt(len(x))) if len(x) > 1 else math.nan


def totals(model, passages):
    losses, best, top10, n_bytes = [], 0, 0, 0
    for (ids, first), scores in zip(passages, model.score(passages)):
        losses += [-s[0] for s in scores]
        best += sum(s[1] == t for s, t in zip(scores, ids[first:]))
        top10 += sum(s[2] < 10 for s in scores)
        n_bytes += sum(len(model.piece.get(t, b"")) for t in ids[first:])
    return {"windows": len(passages), "targets": len(losses), "loss": float(np.mean(losses)),
            "loss_error": mean_error(losses), "bytes": n_bytes,
            "loss_per_byte": float(np.sum(losses)) / n_bytes, "top_1": best, "top_10": top10}


def perplexity(model, text, T, overlap, rules):
    n_original = len(text.strip().split(" "))
    ids = model.encode(detokenize(text, RULES[rules]))
    out = totals(model, list(lm_windows(ids, T, overlap)))
    assert out["targets"] == len(ids) - 1
    ratio = (len(ids) - 1) / (n_original - 1)
    return {**out, "token_ratio": ratio, "perplexity": math.exp(min(20, out["loss"])),
            "adjusted_perplexity": math.exp(min(20, out["loss"] * ratio)),
            "bits_per_byte": out["loss_per_byte"] / math.log(2)}


def split(model, text, T, last_n):
    """Languini's: the stream ends with <|endoftext|>, the last n of each window count."""
    ids = model.encode(text) + [model.vocab["<|endoftext|>"]] if "<|endoftext|>" in model.vocab else model.encode(text)
    passages, at = [], 0
    while at + T - last_n + 1 < len(ids):
        passages.append((ids[at:at + T + 1], T - last_n + 1))
        at += last_n
    return totals(model, passages)


def lambada(model, lines, T, strict):
    passages, left_out = [], 0
    for line in lines:
        text = json.loads(line)["text"]
        if strict:
            last = text.split()[-1]
            context, target = model.encode(text[:text.rfind(last)].strip()), model.encode(" " + last)
        else:
            ids = model.encode(text)
            context, target = ids[:-1][-T:], ids[-1:]
        if not context or len(context) + len(target) - 1 > T:
            left_out += 1
        else:
            passages.append((context + target, len(context)))
    # By length: batches without much padding.
    passages.sort(key=lambda p: len(p[0]))
    correct, losses = 0, []
    for (ids, first), scores in zip(passages, model.score(passages)):
        correct += all(s[1] == t for s, t in zip(scores, ids[first:]))
        losses.append(-sum(s[0] for s in scores))
    out = {"passages": len(passages), "left_out": left_out, "correct": correct,
           "targets": sum(len(ids) - first for ids, first in passages)}
    return {**out, "loss": float(np.mean(losses)), "loss_error": mean_error(losses)} if passages else out


# ---- what the tests compare with ----

WIKI = """ \n = The Sea = \n \n The sea was calm in the morning , and rough in the evening ; it 's what the sea does .
 In 1999 there were 365 @,@ 000 well @-@ known ships , or 3 @.@ 5 for each of the town 's people : a third of
 them ( about 12 ° C ( or less ) ) sailed . " Where is the sea ? " , they asked ! \n \n = = The town = = \n
 \n The sailors ' houses [ of stone ] stood at { the end } of the river . " What 's in a name ? I 'm a
 program that likes to talk , " it said . N of N were at the prompt . ( This is never closed . ' Neither is \t
 this . \n \n = = = Names = = = \n \n Où est la mer ? Das Meer war ruhig . 海は静かだった 。 Море было спокойным . \n
 = = = = Deep = = = = \n The name of the sea , the name of the river , the name of the town \u2003( \u00a0 so it
 was written \u2003) : ' 't was ' so . \n"""
PTB = """ mr. prattle 's program does n't sell for $ N million or # N a year \n the sea 's towns wo n't buy
 N % of it ' \n it is N years old and has N ships \n"""


def words_the_model_expects(model, rng, n):
    """Passages that end in a word all of whose tokens are the likeliest, and the number of those tokens."""
    sentences = WIKI.split("\n")
    context_words = " ".join(sentences).split()
    found = {}
    while sum(min(len(v), n) for v in found.values()) < 3 * n:
        context = " ".join(rng.choice(context_words) for _ in range(rng.randint(5, 25)))
        ids, word = model.encode(context), []
        with torch.no_grad():
            while len(word) < 4:
                p = model.log_probs(torch.tensor([ids + word]))[0, -1]
                if word and model.piece.get(int(p.argmax()), b" ")[:1] == b" ":
                    break
                word.append(int(p.argmax()))
        text = b"".join(model.piece.get(i, b" ") for i in word).decode("utf-8", "replace")
        if text[:1] == " " and text[1:] and not re.search(r"\s|\ufffd", text[1:]) and model.encode(text) == word:
            if len(found.setdefault(len(word), [])) < n:
                found[len(word)].append(context + text)
        else:
            # A word that does not begin with a blank: one sign of it, behind a blank of its own.
            found.setdefault(0, [])
            if len(found[0]) < n and ids:
                found[0].append(context + " " + rng.choice(context_words))
    return [t for texts in found.values() for t in texts]


def small_model():
    vocab = json.loads(read(HERE, "tokenizer", "vocab.json"))
    merges = [tuple(l.split(" ")) for l in read(HERE, "tokenizer", "merges.txt").split("\n")
              if l and not l.startswith("#version")]
    return Model(os.path.join(HERE, "comparison"), vocab, merges, torch.float64)


def write(name, out):
    with open(os.path.join(FOLDER, name), "w") as f:
        f.write(",\n".join(json.dumps({k: v})[1:-1] for k, v in out.items()).join("{}") + "\n")
    print(json.dumps(out, indent=1))


def make():
    model, rng = small_model(), random.Random(4)
    os.makedirs(FOLDER, exist_ok=True)
    texts = words_the_model_expects(model, rng, 12)
    words = WIKI.split()
    texts += [" ".join(rng.choice(words) for _ in range(90)), "alone", " blank \u2003behind  \n"]
    rng.shuffle(texts)
    for name, text in ("wiki.txt", WIKI), ("ptb.txt", PTB), \
            ("lambada.jsonl", "\n".join(json.dumps({"text": t}) for t in texts) + "\n"):
        open(os.path.join(FOLDER, name), "w", encoding="utf-8", newline="").write(text)
    lines = read(FOLDER, "lambada.jsonl").splitlines()
    out = {"wikitext": perplexity(model, WIKI, 80, 40, "wikitext"),
           "wikitext_7_of_50": perplexity(model, WIKI, 50, 7, "wikitext"),
           "wikitext_raw": perplexity(model, WIKI, 64, 64, "raw"),
           "wikitext_1": perplexity(model, WIKI, 1, 1, "wikitext"),
           "ptb": perplexity(model, PTB, 80, 40, "ptb"),
           "text": split(model, WIKI, 80, 40), "text_13_of_31": split(model, WIKI, 31, 13),
           "lambada": lambada(model, lines, 80, False), "lambada_strict": lambada(model, lines, 80, True),
           "lambada_20": lambada(model, lines, 20, False), "lambada_20_strict": lambada(model, lines, 20, True)}
    write("reference.json", out)


def first_tokens(data, n):
    """GPT-2's vocabulary cut after n tokens: byte pairs are numbered as they were learned."""
    vocab = {t: i for t, i in json.loads(read(data, "tokenizer", "vocab.json")).items() if i < n}
    merges = [tuple(l.split(" ")) for l in read(data, "tokenizer", "merges.txt").split("\n")
              if l and not l.startswith("#version")][:n - 256]
    return {**vocab, "<|endoftext|>": n}, merges


def random_model(data):
    """tiny-random-gpt2; windows of 128 every 96, though its context holds 512."""
    model = Model(os.path.join(data, "weights", "tiny-random-gpt2"), *first_tokens(data, 999), torch.float32)
    return model, lambda s: s


def character_model(data):
    """SLM_4096, whose context holds 128, and the text without the bytes it lacks."""
    folder = os.path.join(data, "weights", "SLM_4096")
    vocab = json.loads(read(folder, "vocab.json"))
    signs = {b for b, c in SIGNS.items() if c in vocab}
    return Model(folder, vocab, [], torch.float32), lambda s: bytes(b for b in s.encode() if b in signs).decode()


def whole(data, name, load):
    torch.set_num_threads(1)
    model, sayable = load(data)
    T = model.n_ctx
    text = sayable(read(data, "wikitext", "wiki.test.raw"))
    lines = read(data, "lambada", "lambada_test.jsonl").splitlines()
    lines = [json.dumps({"text": sayable(json.loads(l)["text"])}) for l in lines]
    out = {"wikitext": perplexity(model, text, 128, 96, "wikitext"), "lambada": lambada(model, lines, T, False),
           "lambada_strict": lambada(model, lines, T, True)}
    # No passage and its last word fit into the 128 characters of SLM_4096.
    write(name, {k: v for k, v in out.items() if v["targets"] > 0})


def one(what, folder, path, *sizes):
    merges = [tuple(l.split(" ")) for l in read(folder, "merges.txt").split("\n")
              if l and not l.startswith("#version")]
    model = Model(folder, json.loads(read(folder, "vocab.json")), merges, torch.float32)
    T = int(sizes[0]) if sizes else model.n_ctx
    step = int(sizes[1]) if len(sizes) > 1 else T // 2
    text = read(path)
    if what in ("lambada", "strict"):
        out = lambada(model, [l for l in text.split("\n") if l.strip()], T, what == "strict")
    else:
        out = split(model, text, T, step) if what == "text" else perplexity(model, text, T, step, what)
    print(json.dumps(out, indent=1))


if len(sys.argv) == 1:
    make()
elif len(sys.argv) == 2:
    whole(sys.argv[1], "tiny-random-gpt2.json", random_model)
    whole(sys.argv[1], "SLM_4096.json", character_model)
else:
    one(*sys.argv[1:])
