# What PyTorch does of the work that `prattle bench` measures: GPT-2 with random weights, in float32.
# Prints tokens a second.
#
#   python peer_torch.py decode|prefill|train|train-bf16 THREADS LAYERS HEADS WIDTH VOCABULARY CONTEXT BATCH LENGTH
#
# decode: LENGTH tokens after a prompt of 16, one at a time, with a cache of keys and values.
# prefill: a prompt of LENGTH tokens, with the logits after the last.
# train: a step of BATCH windows of LENGTH tokens, AdamW's update included.
# train-bf16: the same with autocast to bfloat16.
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

work = sys.argv[1]
threads, layers, heads, width, vocabulary, context, batch, length = map(int, sys.argv[2:])
torch.set_num_threads(threads)
torch.manual_seed(1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc, self.proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x, past):
        B, T, _ = x.shape
        q, k, v = (y.view(B, T, heads, -1).transpose(1, 2) for y in self.qkv(x).split(width, 2))
        if past is not None:
            k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=T > 1)
        else:
            scores = q @ k.transpose(2, 3) / (width // heads) ** 0.5
            if T > 1:
                scores = scores.masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), -torch.inf)
            y = scores.softmax(3) @ v
        return self.out(y.transpose(1, 2).reshape(B, T, width)), (k, v)

    def forward(self, x, past=None):
        y, past = self.attend(self.ln_1(x), past)
        x = x + y
        x = x + self.proj(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))
        return x, past


class GPT2(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)

    def forward(self, ids, pasts=None, all_logits=False):
        begin = 0 if pasts is None else pasts[0][0].shape[2]
        x = self.wte(ids) + self.wpe(torch.arange(begin, begin + ids.shape[1]))
        kept = []
        for i, block in enumerate(self.blocks):
            x, past = block(x, None if pasts is None else pasts[i])
            kept.append(past)
        x = self.ln_f(x if all_logits else x[:, -1:])
        return x @ self.wte.weight.T, kept


def decode(model):
    with torch.inference_mode():
        logits, pasts = model(torch.randint(vocabulary, (1, 16)))
        start = time.perf_counter()
        for _ in range(length):
            logits, pasts = model(logits[:, -1].argmax(1, keepdim=True), pasts)
        return length / (time.perf_counter() - start)


def prefill(model):
    with torch.inference_mode():
        ids = torch.randint(vocabulary, (1, length))
        start = time.perf_counter()
        model(ids)
        return length / (time.perf_counter() - start)


def train(model, optimizer):
    ids = torch.randint(vocabulary, (batch, length + 1))
    start = time.perf_counter()
    with torch.autocast("cpu", torch.bfloat16, enabled=work == "train-bf16"):
        logits, _ = model(ids[:, :-1], all_logits=True)
    F.cross_entropy(logits.float().reshape(-1, vocabulary), ids[:, 1:].reshape(-1)).backward()
    optimizer.step()
    optimizer.zero_grad()
    return batch * length / (time.perf_counter() - start)


model = GPT2()
if work.startswith("train"):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    train(model, optimizer)  # the first touches its memory
    print(train(model, optimizer))
else:
    run = {"decode": decode, "prefill": prefill}[work]
    run(model)
    print(run(model))
