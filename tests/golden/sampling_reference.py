#!/usr/bin/python3
"""Each stage of the sampler in plain NumPy, float64, sorted in full.

    tests/golden/sampling_reference.py > tests/golden/sampling.json

Definitions: transformers 4.46 (logits_process.py) for repetition, no_repeat_ngram,
bad words, temperature, top_k, top_p, min_p, typical_p; llama.cpp (llama-sampling.cpp,
end of 2024) for frequency and presence, DRY, dynamic temperature, top_n_sigma, XTC and
mirostat. Draws: Philox4x32-10 over (seed, draw, position), inverse of the cumulative
distribution in order of ids.
"""
import json
import sys

import numpy as np

NEG = -np.inf


def philox(seed, stream, counter):
    c = [counter & 0xFFFFFFFF, counter >> 32, stream & 0xFFFFFFFF, stream >> 32]
    k = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def uniform(seed, draw, position):
    w = philox(seed, draw, position)
    return ((w[0] << 21) | (w[1] >> 11)) * 2.0**-53


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


# ---- what changes logits ----

def logit_bias(x, s, text, n_new):
    for part in s["logit_bias"].split(","):
        i, b = part.split(":")
        x[int(i)] += float(b)
    return x


def window(text, n):
    return text if n < 0 else text[max(0, len(text) - n):]


def penalties(x, s, text, n_new):
    seen = window(text, s.get("penalty_window", -1))
    r = s.get("repetition_penalty", 1)
    for i in set(seen):
        x[i] = x[i] * r if x[i] < 0 else x[i] / r
        x[i] -= seen.count(i) * s.get("frequency_penalty", 0) + s.get("presence_penalty", 0)
    return x


def dry(x, s, text, n_new):
    seen = window(text, s.get("dry_window", -1))
    allowed, longest = s.get("dry_allowed_length", 2), {}
    for at in range(1, len(seen)):  # seen[at] came after seen[:at]
        m = 0
        while m < at and seen[at - 1 - m] == seen[len(seen) - 1 - m]:
            m += 1
        if m >= allowed:
            longest[seen[at]] = max(longest.get(seen[at], 0), m)
    for i, m in longest.items():
        x[i] -= s["dry_multiplier"] * s.get("dry_base", 1.75) ** (m - allowed)
    return x


def no_repeat_ngram(x, s, text, n_new):
    n = s["no_repeat_ngram_size"]
    seen = {}
    for i in range(len(text) - n + 1):
        seen.setdefault(tuple(text[i:i + n - 1]), []).append(text[i + n - 1])
    for i in seen.get(tuple(text[len(text) + 1 - n:]), []):
        x[i] = NEG
    return x


def min_new_tokens(x, s, text, n_new):
    if s.get("ignore_eos") or n_new < s.get("min_new_tokens", 0):
        x[s["eos"]] = NEG
    return x


# ---- what shapes and cuts ----

def temperature(x, s, text, n_new):
    t = s["temperature"]
    if s.get("dynatemp_range", 0):
        p = softmax(x)
        h = -(p[p > 0] * np.log(p[p > 0])).sum() / np.log(np.isfinite(x).sum())
        low, high = max(t - s["dynatemp_range"], 0), t + s["dynatemp_range"]
        t = low + (high - low) * h ** s.get("dynatemp_exponent", 1)
    return x / t


def keep(x, which):
    out = np.full_like(x, NEG)
    out[which] = x[which]
    return out


def descending(x):
    return np.argsort(-x, kind="stable")  # of equal ones the lowest id first


def top_k(x, s, text, n_new):
    return keep(x, descending(x)[:s["top_k"]])


def top_p(x, s, text, n_new):
    order = descending(x)
    before = np.cumsum(softmax(x)[order]) - softmax(x)[order]
    which = order[before < s["top_p"]]
    return keep(x, which if len(which) else order[:1])


def min_p(x, s, text, n_new):
    p = softmax(x)
    return keep(x, p >= s["min_p"] * p.max())


def typical_p(x, s, text, n_new):
    p = softmax(x)
    alive = p > 0
    h = -(p[alive] * np.log(p[alive])).sum()
    away = np.where(alive, np.abs(-np.log(np.where(alive, p, 1)) - h), np.inf)
    order = np.argsort(away, kind="stable")
    n = (np.cumsum(p[order]) < s["typical_p"]).sum() + 1
    return keep(x, order[:n])


def top_n_sigma(x, s, text, n_new):
    alive = x[np.isfinite(x)]
    return keep(x, x >= alive.max() - s["top_n_sigma"] * alive.std())


def xtc(x, s, text, n_new):
    lot = philox(s["seed"], s["draw"], n_new)[2] * 2.0**-32
    if lot >= s["xtc_probability"]:
        return x
    order = descending(x)
    n = (softmax(x) >= s["xtc_threshold"]).sum()
    return keep(x, order[n - 1:]) if n >= 2 else x


def topk_uniform(x, s, text, n_new):
    x = top_k(x, s, text, n_new)
    return np.where(np.isfinite(x), 0.0, NEG)


def mirostat(x, s, text, n_new):
    p, order, mu = softmax(x), descending(x), s["mu"]
    if s["mirostat"] == 2:
        which = order[-np.log2(p[order]) <= mu]
        return keep(x, which if len(which) else order[:1])
    i = np.arange(min(100, len(x)) - 1)
    t, b = np.log((i + 2) / (i + 1)), x[order[i]] - x[order[i + 1]]
    zipf = (t * b).sum() / (t * t).sum()
    e = zipf - 1
    k = ((e * 2**mu) / (1 - float(len(x)) ** -e)) ** (1 / zipf)
    return keep(x, order[:max(int(k), 1)])


STAGES = dict(logit_bias=logit_bias, penalties=penalties, dry=dry, no_repeat_ngram=no_repeat_ngram,
              min_new_tokens=min_new_tokens, temperature=temperature, top_k=top_k, top_p=top_p,
              min_p=min_p, typical_p=typical_p, top_n_sigma=top_n_sigma, xtc=xtc,
              topk_uniform=topk_uniform, mirostat=mirostat)


def run(x, chain, s, text, n_new):
    for name in chain:
        x = STAGES[name](x.copy(), s, text, n_new)
    return x


def draws(logits, chain, s, n):
    """n tokens drawn one after the other from logits that turn with the text."""
    text, ids, mu = [1, 2, 3], [], 2 * s.get("mirostat_tau", 5)
    for position in range(n):
        x = np.roll(logits, sum(text) % len(logits))
        p = softmax(run(x, chain, dict(s, mu=mu), text, position))
        i = int(np.searchsorted(np.cumsum(p), uniform(s["seed"], s["draw"], position), "right"))
        if "mirostat" in chain:
            mu -= s.get("mirostat_eta", 0.1) * (-np.log2(p[i]) - s.get("mirostat_tau", 5))
        text.append(i)
        ids.append(i)
    return ids


def main():
    rng = np.random.default_rng(2019)
    V = 131
    sets = {"peaked": rng.normal(0, 3, V), "even": rng.normal(0, 0.1, V),
            "ties": np.round(rng.normal(0, 1.5, V)), "banned": rng.normal(0, 2, V),
            "shifted": rng.normal(-40, 2, V)}
    sets = {k: v.astype(np.float32).astype(np.float64) for k, v in sets.items()}
    sets["banned"][::3] = NEG
    text = [int(i) for i in rng.integers(0, 40, 60)]
    text += text[10:16] + [7, 9] + text[12:16]
    base = dict(seed=11, draw=3, eos=5)
    adjust = [
        (["logit_bias"], dict(logit_bias="3:2.5,130:-1,0:-inf")),
        (["penalties"], dict(repetition_penalty=1.3)),
        (["penalties"], dict(repetition_penalty=0.7, penalty_window=9)),
        (["penalties"], dict(frequency_penalty=0.5, presence_penalty=-0.25)),
        (["penalties"], dict(repetition_penalty=1.2, frequency_penalty=0.1, presence_penalty=0.3,
                             penalty_window=20)),
        (["dry"], dict(dry_multiplier=0.8)),
        (["dry"], dict(dry_multiplier=0.8, dry_base=1.2, dry_allowed_length=1)),
        (["dry"], dict(dry_multiplier=2, dry_allowed_length=3, dry_window=12)),
        (["no_repeat_ngram"], dict(no_repeat_ngram_size=1)),
        (["no_repeat_ngram"], dict(no_repeat_ngram_size=2)),
        (["no_repeat_ngram"], dict(no_repeat_ngram_size=3)),
        (["min_new_tokens"], dict(min_new_tokens=4)),
        (["min_new_tokens"], dict(min_new_tokens=2)),
        (["min_new_tokens"], dict(ignore_eos=True)),
    ]
    cut = [(["temperature"], dict(temperature=t)) for t in (0.3, 2.0)]
    cut += [(["temperature"], dict(temperature=1.0, dynatemp_range=0.7, dynatemp_exponent=e))
            for e in (1, 2.5)]
    cut += [(["top_k"], dict(top_k=k)) for k in (1, 7, 60, 131, 9999)]
    cut += [(["top_p"], dict(top_p=p)) for p in (0, 0.3, 0.9, 0.999)]
    cut += [(["min_p"], dict(min_p=p)) for p in (0.02, 0.5, 1)]
    cut += [(["typical_p"], dict(typical_p=p)) for p in (0.2, 0.95)]
    cut += [(["top_n_sigma"], dict(top_n_sigma=n)) for n in (0.5, 1.5)]
    cut += [(["xtc"], dict(xtc_probability=p, xtc_threshold=t)) for p, t in ((1, 0.05), (1, 0.005),
                                                                            (0.02, 0.05))]
    cut += [(["topk_uniform"], dict(top_k=9, topk_uniform=True))]
    cut += [(["mirostat"], dict(mirostat=m, mirostat_tau=t)) for m in (1, 2) for t in (0.5, 2)]
    cut += [(["temperature", "top_p"], dict(temperature=0.8, top_p=0.95)),
            (["top_k", "temperature", "min_p", "typical_p"],
             dict(top_k=30, temperature=1.4, min_p=0.02, typical_p=0.8)),
            (["top_p", "penalties", "temperature", "top_k"],
             dict(top_p=0.8, repetition_penalty=1.5, temperature=0.7, top_k=12))]
    cases = []
    for kind, group in (("adjust", adjust), ("cut", cut)):
        for chain, s in group:
            for name, logits in sets.items():
                if "mirostat" in chain and name == "banned":
                    continue  # llama.cpp has no such candidates
                full = dict(base, **s)
                x = run(logits, chain, dict(full, mu=2 * s.get("mirostat_tau", 5)), text, 3)
                # only what changed, or what stayed
                out = {str(i): None if v == NEG else float("%.7g" % v) for i, v in enumerate(x)
                       if v != logits[i]}
                if kind == "cut":
                    out = {str(i): float("%.6g" % v) for i, v in enumerate(softmax(x)) if v > 0}
                cases.append(dict(kind=kind, chain=",".join(chain), settings=s, logits=name,
                                  out=out))
    drawn = []
    for chain, s in ((["temperature", "top_p"], dict(temperature=0.8, top_p=0.95)),
                     (["penalties", "temperature"], dict(temperature=1.5, repetition_penalty=1.4)),
                     (["xtc"], dict(xtc_probability=0.5, xtc_threshold=0.05)),
                     (["mirostat"], dict(mirostat=1, mirostat_tau=2.0, mirostat_eta=0.2)),
                     (["mirostat"], dict(mirostat=2, mirostat_tau=2.0, mirostat_eta=0.2))):
        for seed, draw in ((11, 3), (2**40 + 1, 0)):
            ids = draws(sets["peaked"], chain, dict(s, seed=seed, draw=draw), 40)
            drawn.append(dict(chain=",".join(chain), settings=s, seed=seed, draw=draw, ids=ids))
    json.dump(dict(logits={k: [None if v == NEG else float("%.9g" % v) for v in x]
                           for k, x in sets.items()}, text=text, n_new=3, eos=5, seed=11, draw=3,
                   cases=cases, drawn=drawn), sys.stdout, separators=(",", ":"))
    print()


main()
