#!/usr/bin/python3
"""Beam search and contrastive search of transformers 4.46, written out by hand.

    tests/golden/search_reference.py > tests/golden/search.json      (PyTorch 1.13)

Beam search: GenerationMixin._beam_search, BeamSearchScorer.process and finalize,
BeamHypotheses.add and is_done, for one prompt and do_sample off. Contrastive search:
_contrastive_search with _ranking_fast. Over the tiny models beside this, in float64.
"""
import json
import os
import sys

import torch

from gpt2_reference import forward, layer_norm, read_safetensors

HERE = os.path.dirname(os.path.abspath(__file__))


class Model:
    def __init__(self, name):
        folder = os.path.join(HERE, name)
        self.config = json.load(open(os.path.join(folder, "config.json")))
        weights = read_safetensors(os.path.join(folder, "model.safetensors"))
        self.weights = {k.replace("transformer.", ""): v for k, v in weights.items()}

    def run(self, ids):
        """Logits after the last id, and the hidden states after ln_f."""
        logits, hidden = forward(self.config, self.weights, ids, torch.float64)
        w = {k: v.double() for k, v in self.weights.items()}
        last = layer_norm(hidden[-1], w["ln_f.weight"], w["ln_f.bias"],
                          self.config["layer_norm_epsilon"])
        return logits[-1], last


def process(scores, ids, repetition_penalty=1.0, no_repeat_ngram_size=0, ban_eos=None):
    scores = scores.clone()
    for i in set(ids):
        scores[i] = scores[i] * repetition_penalty if scores[i] < 0 else scores[i] / repetition_penalty
    n = no_repeat_ngram_size
    for i in range(len(ids) - n + 1 if n else 0):
        if ids[i:i + n - 1] == ids[len(ids) - n + 1:]:
            scores[ids[i + n - 1]] = -float("inf")
    if ban_eos is not None:
        scores[ban_eos] = -float("inf")
    return scores


class Hypotheses:
    def __init__(self, num_beams, length_penalty, early_stopping, max_length):
        self.num_beams, self.length_penalty = num_beams, length_penalty
        self.early_stopping, self.max_length = early_stopping, max_length
        self.beams, self.worst_score = [], 1e9

    def add(self, hyp, sum_logprobs, generated_len):
        score = sum_logprobs / generated_len**self.length_penalty
        if len(self.beams) < self.num_beams or score > self.worst_score:
            self.beams.append((score, hyp))
            if len(self.beams) > self.num_beams:
                ordered = sorted((s, i) for i, (s, _) in enumerate(self.beams))
                del self.beams[ordered[0][1]]
                self.worst_score = ordered[1][0]
            else:
                self.worst_score = min(score, self.worst_score)

    def is_done(self, best, cur_len, prompt_len):
        if len(self.beams) < self.num_beams:
            return False
        if self.early_stopping is True:
            return True
        length = cur_len - prompt_len
        if self.early_stopping == "never" and self.length_penalty > 0:
            length = self.max_length - prompt_len
        return self.worst_score >= best / length**self.length_penalty


def beam_search(model, prompt, num_beams, max_new_tokens, eos, length_penalty=1.0,
                early_stopping=False, num_return_sequences=1, min_new_tokens=0, **processors):
    V, prompt_len = model.config["vocab_size"], len(prompt)
    max_length = prompt_len + max_new_tokens
    input_ids = [list(prompt) for _ in range(num_beams)]
    beam_scores = torch.zeros(num_beams, dtype=torch.float64)
    beam_scores[1:] = -1e9
    hyps, done = Hypotheses(num_beams, length_penalty, early_stopping, max_length), False
    while True:
        cur_len = len(input_ids[0]) + 1
        rows = []
        for ids, score in zip(input_ids, beam_scores):
            logits, _ = model.run(ids)
            ban = eos if len(ids) - prompt_len < min_new_tokens else None
            rows.append(process(torch.log_softmax(logits, -1), ids, ban_eos=ban, **processors) + score)
        scores, tokens = torch.topk(torch.cat(rows), 2 * num_beams)
        following = []
        for rank, (score, token) in enumerate(zip(scores.tolist(), tokens.tolist())):
            beam, token = token // V, token % V
            if token == eos:
                if rank < num_beams:
                    hyps.add(input_ids[beam], score, cur_len - prompt_len)
            else:
                following.append((input_ids[beam] + [token], score))
            if len(following) == num_beams:
                break
        done = done or hyps.is_done(scores.max().item(), cur_len, prompt_len)
        input_ids = [ids for ids, _ in following]
        beam_scores = torch.tensor([s for _, s in following], dtype=torch.float64)
        if done or len(input_ids[0]) >= max_length:
            break
    if not done:
        for ids, score in zip(input_ids, beam_scores.tolist()):
            hyps.add(ids, score, len(ids) - prompt_len)
    best = sorted(hyps.beams, key=lambda x: x[0])[::-1][:num_return_sequences]
    return [dict(ids=ids[prompt_len:], score=score) for score, ids in best]


def contrastive_search(model, prompt, top_k, penalty_alpha, max_new_tokens, eos, **processors):
    ids, out = list(prompt), []
    for _ in range(max_new_tokens):
        logits, hidden = model.run(ids)
        p = torch.softmax(process(logits, ids, **processors), -1)
        p, tokens = torch.topk(p, top_k)
        context = hidden / hidden.norm(dim=1, keepdim=True)
        best = []
        for q, token in zip(p.tolist(), tokens.tolist()):
            _, next_hidden = model.run(ids + [token])
            h = next_hidden[-1] / next_hidden[-1].norm()
            best.append(((1 - penalty_alpha) * q - penalty_alpha * (context @ h).max().item(), token))
        token = max(best, key=lambda x: x[0])[1]
        ids.append(token)
        if token == eos:
            break
        out.append(token)
    return out


def main():
    cases = []
    for name in ("tiny-plain", "tiny-tanh"):
        model = Model(name)
        V = model.config["vocab_size"]
        prompt = [(7 * i * i + 3 * i + 5) % V for i in range(11)]
        # A stop token that does come: one of the likely ones of the first steps.
        order = torch.argsort(model.run(prompt)[0], descending=True).tolist()
        for eos in (order[2], order[5]):
            for s in (dict(), dict(length_penalty=2.0), dict(length_penalty=-1.0), dict(length_penalty=0.0),
                      dict(early_stopping=True), dict(early_stopping="never"),
                      dict(early_stopping="never", length_penalty=-0.5),
                      dict(repetition_penalty=1.5), dict(no_repeat_ngram_size=2, num_beams=3),
                      dict(min_new_tokens=6, num_beams=2), dict(num_beams=7, early_stopping=True)):
                s = dict(dict(num_beams=4, max_new_tokens=14), **s)
                found = beam_search(model, prompt, eos=eos, num_return_sequences=s["num_beams"], **s)
                cases.append(dict(kind="beam", model=name, prompt=prompt, stop=eos, settings=s, found=found))
        for s in (dict(top_k=4, penalty_alpha=0.6), dict(top_k=2, penalty_alpha=0.9), dict(top_k=5, penalty_alpha=0.2),
                  dict(top_k=4, penalty_alpha=0.5, repetition_penalty=1.4)):
            ids = contrastive_search(model, prompt, max_new_tokens=16, eos=-1, **s)
            cases.append(dict(kind="contrastive", model=name, prompt=prompt, stop=-1,
                              settings=dict(s, max_new_tokens=16), found=[dict(ids=ids)]))
    json.dump(cases, sys.stdout, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
