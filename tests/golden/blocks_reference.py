#!/usr/bin/python3
"""Quantized GGUF tensors, made and read back in plain NumPy, and what the tests compare with.

    tests/golden/blocks_reference.py      (NumPy 1.24)

A type is packed and unpacked here by the place of each element's bits, as weights/gguf/blocks.h
draws it; all arithmetic is float32, rounded after each operation. Writes

    blocks/blocks.gguf      a tensor of each type, TYPE: quantized numbers, then blocks of random bits;
                            and TYPE.f32, its values
    blocks/mixed.gguf       a GPT-2 of five layers whose matrices are of every type that is read
    blocks/mixed.sha256     of each of its tensors the SHA-256 of the values, as F32 in the file's order
    ../fuzz/corpus/gguf/quantized.gguf    a smaller one
"""
import hashlib
import os
import struct

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
F32 = np.float32
LEVELS = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], F32)
# number in the file, elements and bytes of a block, bits of q, elements of a group with a scale
TYPES = {
    "F32": (0, 1, 4, 0, 0), "F16": (1, 1, 2, 0, 0), "BF16": (30, 1, 2, 0, 0),
    "Q4_0": (2, 32, 18, 4, 32), "Q4_1": (3, 32, 20, 4, 32), "Q5_0": (6, 32, 22, 5, 32),
    "Q5_1": (7, 32, 24, 5, 32), "Q8_0": (8, 32, 34, 8, 32), "IQ4_NL": (20, 32, 18, 4, 32),
    "Q2_K": (10, 256, 84, 2, 16), "Q3_K": (11, 256, 110, 3, 16), "Q4_K": (12, 256, 144, 4, 32),
    "Q5_K": (13, 256, 176, 5, 32), "Q6_K": (14, 256, 210, 6, 16),
}
QUANTIZED = [name for name, t in TYPES.items() if t[1] > 1]
HAS_MIN = {"Q4_1", "Q5_1", "Q2_K", "Q4_K", "Q5_K"}
# Where the binary16 numbers are: the scale, then the minimum of those that have one.
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "IQ4_NL": [0],
          "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}


def places_of_q(name):
    """Of each element its bits: a list, low bits first, of (byte, first bit, how many)."""
    e = np.arange(TYPES[name][1])
    n, j, i, g = e // 128, e // 32 % 4, e % 32, e // 32
    four = {"Q4_0": 2, "IQ4_NL": 2, "Q4_1": 4, "Q5_0": 6, "Q5_1": 8}
    if name in four:
        bits = [(four[name] + e % 16, e // 16 * 4, 4)]
        if name in ("Q5_0", "Q5_1"):
            bits.append((four[name] - 4 + e // 8, e % 8, 1))
        return bits
    return {
        "Q8_0": [(2 + e, 0 * e, 8)],
        "Q2_K": [(16 + 32 * n + i, 2 * j, 2)],
        "Q3_K": [(32 + 32 * n + i, 2 * j, 2), (i, 4 * n + j, 1)],
        "Q4_K": [(16 + 32 * (g // 2) + i, g % 2 * 4, 4)],
        "Q5_K": [(48 + 32 * (g // 2) + i, g % 2 * 4, 4), (16 + i, g, 1)],
        "Q6_K": [(64 * n + 32 * (j % 2) + i, j // 2 * 4, 4), (128 + 32 * n + i, 2 * j, 2)],
    }[name]


def places_of_scales(name):
    """The same for each group's scale, and for its minimum (None: there is none)."""
    if name == "Q2_K":
        g = np.arange(16)
        return [(g, 0 * g, 4)], [(g, 0 * g + 4, 4)]
    if name == "Q3_K":
        g = np.arange(16)
        return [(96 + g % 8, g // 8 * 4, 4), (104 + g % 4, g // 4 * 2, 2)], None
    if name == "Q6_K":
        g = np.arange(16)
        return [(192 + g, 0 * g, 8)], None
    if name in ("Q4_K", "Q5_K"):
        g = np.arange(8)
        late, k = g >= 4, g % 4
        # The low four bits, then the two above them.
        s = [(np.where(late, 12 + k, 4 + k), 0 * g, 4), (4 + k, np.where(late, 6, 4), 2)]
        m = [(np.where(late, 12 + k, 8 + k), np.where(late, 4, 0), 4), (8 + k, np.where(late, 6, 4), 2)]
        return s, m
    return None, None


def take(blocks, places):
    out, at = 0, 0
    for byte, bit, n in places:
        out = out | (blocks[:, byte].astype(np.int32) >> bit & ((1 << n) - 1)) << at
        at += n
    return out


def put(blocks, places, values):
    at = 0
    for byte, bit, n in places:
        part = (values >> at & ((1 << n) - 1)) << bit
        for column in range(part.shape[1]):
            blocks[:, byte[column]] |= part[:, column].astype(np.uint8)
        at += n


def halves(blocks, name):
    return [np.ascontiguousarray(blocks[:, at:at + 2]).view(np.float16).astype(F32)
            for at in HALVES[name]]


def signed(q, name):
    """The integer that an element's bits stand for, in float32."""
    if name == "IQ4_NL":
        return LEVELS[q]
    if name == "Q8_0":
        return q.astype(np.uint8).view(np.int8).astype(F32)
    zero = {"Q4_0": 8, "Q5_0": 16, "Q3_K": 4, "Q6_K": 32}.get(name, 0)
    return (q - zero).astype(F32)


def signed_scale(s, name):
    if name == "Q6_K":
        return s.astype(np.uint8).view(np.int8).astype(F32)
    return (s - (32 if name == "Q3_K" else 0)).astype(F32)


def dequantize(data, name):
    """bytes -> float32, one long row."""
    if name in ("F32", "F16"):
        return np.frombuffer(data, F32 if name == "F32" else np.float16).astype(F32)
    if name == "BF16":
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(F32)
    _, _, size, _, group = TYPES[name]
    blocks = np.frombuffer(data, np.uint8).reshape(-1, size)
    d = halves(blocks, name)
    q = signed(take(blocks, places_of_q(name)), name)
    s, m = places_of_scales(name)
    scale = d[0]
    if s is not None:
        scale = np.repeat(d[0] * signed_scale(take(blocks, s), name), group, axis=1)
    if name not in HAS_MIN:
        return (scale * q).ravel()
    if m is None:
        return (scale * q + d[1]).ravel()
    return (scale * q - np.repeat(d[1] * take(blocks, m).astype(F32), group, axis=1)).ravel()


def quantize(x, name):
    """float32 -> bytes; no better than it must be, but within about a step of x."""
    if name in ("F32", "F16"):
        return x.astype(F32 if name == "F32" else np.float16).tobytes()
    if name == "BF16":
        u = x.astype(F32).view(np.uint32)
        return (u + 0x7fff + (u >> 16 & 1) >> 16).astype(np.uint16).tobytes()
    _, elements, size, n_bits, group = TYPES[name]
    x = x.reshape(-1, elements // group, group).astype(np.float64)
    blocks = np.zeros((len(x), size), np.uint8)
    low = np.minimum(x.min(2), 0) if name in HAS_MIN else 0 * x.min(2)
    top = (1 << n_bits) - 1
    if name in HAS_MIN:
        step = (x.max(2) - low) / top
    elif name == "IQ4_NL":
        step = abs(x).max(2) / 113
    else:
        step = abs(x).max(2) / (top // 2)
    step = np.maximum(step, 1e-12)
    s, m = places_of_scales(name)
    if s is None:
        d = [step[:, 0], low[:, 0]]
    else:
        # The scales of the groups in steps of the block's own.
        s_top = {"Q2_K": 15, "Q3_K": 31, "Q6_K": 127}.get(name, 63)
        m_top = 15 if name == "Q2_K" else 63
        d = [step.max(1) / s_top, np.maximum((-low).max(1), 1e-12) / m_top]
        put(blocks, s, np.rint(step / d[0][:, None]).astype(np.int32) + (32 if name == "Q3_K" else 0))
        if m is not None:
            put(blocks, m, np.rint(-low / d[1][:, None]).astype(np.int32))
    for at, value in zip(HALVES[name], d):
        blocks[:, at:at + 2] = value.astype(np.float16).view(np.uint8).reshape(-1, 2)
    # What an element is with q = 0 and 1, by the formula: so q is the nearest of all.
    choices = range(-(top // 2) - 1, top // 2 + 1) if name == "Q8_0" else range(top + 1)
    best, error = None, None
    for q in choices:
        put_q = blocks.copy()
        put(put_q, places_of_q(name), np.full((len(x), elements), q & top))
        e = abs(dequantize(put_q.tobytes(), name).reshape(x.shape).astype(np.float64) - x)
        best = np.full(x.shape, q) if best is None else np.where(e < error, q, best)
        error = e if error is None else np.minimum(e, error)
    put(blocks, places_of_q(name), best.reshape(len(x), elements) & top)
    return blocks.tobytes()


def random_blocks(rng, n, name):
    """All bits at random, but for the binary16 numbers, which are small, negative too, or subnormal."""
    blocks = rng.integers(0, 256, (n, TYPES[name][2]), np.uint8)
    for at in HALVES[name]:
        d = (rng.standard_normal(n) * 0.02).astype(np.float16)
        d[0] = np.float16(3e-7)
        blocks[:, at:at + 2] = d.view(np.uint8).reshape(-1, 2)
    return blocks.tobytes()


# ---- files ----

def text(s):
    return struct.pack("<Q", len(s)) + s.encode()


def key(name, value):
    if isinstance(value, str):
        return text(name) + struct.pack("<I", 8) + text(value)
    if isinstance(value, float):
        return text(name) + struct.pack("<If", 6, value)
    if isinstance(value, list):
        return text(name) + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
    return text(name) + struct.pack("<II", 4, value)


def write_gguf(path, keys, tensors):
    """tensors: (name, shape with the contiguous dimension last, type, bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    head += b"".join(key(*k) for k in keys)
    data = b""
    for name, shape, kind, stored in tensors:
        data += b"\0" * (-len(data) % 32)
        head += text(name) + struct.pack("<I", len(shape))
        head += b"".join(struct.pack("<Q", n) for n in reversed(shape))
        head += struct.pack("<IQ", TYPES[kind][0], len(data))
        data += stored
    with open(path, "wb") as f:
        f.write(head + b"\0" * (-len(head) % 32) + data)


def write_blocks(path, rng):
    tensors = []
    for name in QUANTIZED:
        elements = TYPES[name][1]
        n = 4 if elements == 32 else 1
        x = rng.standard_normal((n, elements)).astype(F32)
        stored = quantize(x, name)
        worst = abs(dequantize(stored, name).reshape(x.shape) - x).max()
        print(f"{name}: quantized to within {worst:.3f}")
        assert worst < {2: 1.2, 3: 0.8, 4: 0.45, 5: 0.2, 6: 0.1, 8: 0.02}[TYPES[name][3]]
        stored += random_blocks(rng, 2 * n, name)
        values = dequantize(stored, name)
        tensors.append((name, (3 * n, elements), name, stored))
        tensors.append((name + ".f32", (3 * n, elements), "F32", values.tobytes()))
    write_gguf(path, [("general.architecture", "gpt2")], tensors)


def write_model(path, rng, layers, n_ctx, n_vocab):
    """layers: the types of attn_qkv, attn_output, ffn_up and ffn_down; all else as llama.cpp has it.
    Returns the lines of the digests."""
    width, inner, heads = 32, 256, 4
    tokens = [chr(ord("!") + i) for i in range(n_vocab)]
    keys = [("general.architecture", "gpt2"), ("general.name", "mixed"),
            ("general.quantization_version", 2), ("general.file_type", 15),
            ("gpt2.block_count", len(layers)), ("gpt2.context_length", n_ctx),
            ("gpt2.embedding_length", width), ("gpt2.feed_forward_length", inner),
            ("gpt2.attention.head_count", heads), ("gpt2.attention.layer_norm_epsilon", 1e-5),
            ("tokenizer.ggml.model", "gpt2"), ("tokenizer.ggml.pre", "gpt-2"),
            ("tokenizer.ggml.tokens", tokens), ("tokenizer.ggml.merges", []),
            ("tokenizer.ggml.eos_token_id", 0)]
    tensors, lines = [], []

    def add(name, shape, kind, centre=0.0, spread=0.1):
        x = (centre + spread * rng.standard_normal(shape)).astype(F32)
        stored = quantize(x, kind)
        digest = hashlib.sha256(dequantize(stored, kind).tobytes()).hexdigest()
        tensors.append((name, shape, kind, stored))
        lines.append(f"{digest}  {name}\n")

    def add_norm(name):
        add(name + ".weight", (width,), "F32", 1.0)
        add(name + ".bias", (width,), "F32")

    # Two embeddings of unlike types: an output head of its own.
    add("token_embd.weight", (n_vocab, width), "Q5_1", spread=0.5)
    add("position_embd.weight", (n_ctx, width), "F32", spread=0.3)
    for i, (qkv, out, up, down) in enumerate(layers):
        block = f"blk.{i}."
        add_norm(block + "attn_norm")
        for name, rows, cols, kind in (("attn_qkv", 3 * width, width, qkv), ("attn_output", width, width, out),
                                       ("ffn_up", inner, width, up), ("ffn_down", width, inner, down)):
            add(block + name + ".weight", (rows, cols), kind, spread=0.2)
            add(block + name + ".bias", (rows,), "F32")
            if name == "attn_output":
                add_norm(block + "ffn_norm")
    add_norm("output_norm")
    add("output.weight", (n_vocab, width), "Q8_0", spread=0.5)
    write_gguf(path, keys, tensors)
    return lines


def main():
    rng = np.random.default_rng(17)
    folder = os.path.join(HERE, "blocks")
    os.makedirs(folder, exist_ok=True)
    write_blocks(os.path.join(folder, "blocks.gguf"), rng)
    layers = [("Q4_0", "F16", "Q8_0", "Q2_K"), ("Q4_1", "BF16", "Q5_0", "Q3_K"),
              ("Q5_0", "IQ4_NL", "Q5_1", "Q4_K"), ("Q5_1", "F32", "Q4_0", "Q5_K"),
              ("Q8_0", "Q4_1", "IQ4_NL", "Q6_K")]
    lines = write_model(os.path.join(folder, "mixed.gguf"), rng, layers, 24, 40)
    with open(os.path.join(folder, "mixed.sha256"), "w") as f:
        f.writelines(lines)
    corpus = os.path.join(HERE, "..", "fuzz", "corpus", "gguf", "quantized.gguf")
    write_model(corpus, rng, [("Q4_0", "Q5_0", "Q4_1", "Q3_K")], 4, 5)


if __name__ == "__main__":
    main()
