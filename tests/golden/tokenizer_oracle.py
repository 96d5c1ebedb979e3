#!/usr/bin/env python3
"""The oracle of the tokenizer tests: the published pattern in Python's regex module, and
byte pair merging as OpenAI's encoder.py does it, written as plainly as can be.

    tokenizer_oracle.py             writes tokenizer/ beside itself: a small vocabulary
                                    trained here, and what the oracle says about texts of
                                    every script, category and kind of blank
    tokenizer_oracle.py data DATA   prints tokenizer/data.json: count and sha256
                                    of the ids (int32, little-endian) of the long texts
                                    in DATA under GPT-2's own vocabulary
"""
import collections, hashlib, json, lzma, os, random, struct, sys
import regex

PATTERN = regex.compile(
    r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""")
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokenizer")

TEXT = """My name is Prattle, and I'm a program that likes to talk. It's what I've always done:
you'll type a line, and I'd answer it. We're at the prompt, they're not; don't worry, that's fine.
The sea was calm in the morning. The sea was rough in the evening. In 1999 there were 365 days,
and in 2000 there were 366. Half is 1/2, or 50 %; a third is about 0.333333.
The name of the sea, the name of the river, the name of the town: what's in a name?
    if (n == 0) { return 0; }   /* four blanks */
    for (int i = 0; i < n; i++) sum += x[i];
Das Meer war ruhig. Où est la mer? ¿Dónde está el mar? Море было спокойным. 海は静かだった。
aaaaaaaaaaaaaaaa bbbbbbbb abababababab aabbaabbaabb ------------ ............ ===== =====
"""


def alphabet():
    """bytes_to_unicode of encoder.py."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    signs = {b: chr(b) for b in shown}
    for b in range(256):
        if b not in signs:
            signs[b] = chr(256 + len(signs) - len(shown))
    return signs


SIGNS = alphabet()


def spell(piece):
    return [SIGNS[b] for b in piece.encode()]


def merge_all(word, pair):
    """Every occurrence of the pair, from left to right."""
    out, i = [], 0
    while i < len(word):
        if i + 1 < len(word) and (word[i], word[i + 1]) == pair:
            out.append(word[i] + word[i + 1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return out


class Tokenizer:
    def __init__(self, vocab, merges):
        self.vocab, self.ranks, self.cache = vocab, {m: i for i, m in enumerate(merges)}, {}

    def bpe(self, piece):
        if piece not in self.cache:
            word = spell(piece)
            while len(word) > 1:
                pair = min(zip(word, word[1:]), key=lambda p: self.ranks.get(p, float("inf")))
                if pair not in self.ranks:
                    break
                word = merge_all(word, pair)
            self.cache[piece] = [self.vocab[s] for s in word]
        return self.cache[piece]

    def encode(self, text):
        return [i for piece in PATTERN.findall(text) for i in self.bpe(piece)]


def train(text, n_merges):
    words = collections.Counter(tuple(spell(p)) for p in PATTERN.findall(text))
    merges = []
    while len(merges) < n_merges:
        pairs = collections.Counter()
        for word, n in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += n
        if not pairs:
            break
        best = max(pairs, key=lambda p: (pairs[p], p))
        merges.append(best)
        words = collections.Counter(
            {tuple(merge_all(list(w), best)): n for w, n in words.items()})
    return merges


def random_texts(rng, n):
    scalars = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    categories = collections.defaultdict(list)
    for c in scalars:
        for name in ("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So "
                     "Zs Zl Zp Cc Cf Co Cn").split():
            if CATEGORY[name].match(chr(c)):
                categories[name].append(chr(c))
                break
    blanks = [chr(c) for c in scalars if regex.match(r"\s", chr(c))]
    almost = [chr(c) for c in (0x1C, 0x1D, 0x1E, 0x1F, 0x180E, 0x200B, 0x2060, 0xFEFF, 0x2800)]
    words = ("the sea name I've it's IT'S don't we'll they're I'm he'd 's ''s 'tis ' 're 've' 'l "
             "'ll 1999 3.14 x2 2x ½ ² Ⅷ été naïve Füße море ΜΗΔΕΝ שלום مرحبا हिन्दी ไทย 한국어 日本語 "
             "e\u0301 👍🏽 👩\u200d👩\u200d👧 🇩🇪 <|endoftext|> \u2019s ... --- {}; /* */ aaaa").split(" ")
    parts = [lambda: rng.choice(words), lambda: rng.choice(words), lambda: " ",
             lambda: rng.choice(blanks) * rng.randint(1, 3), lambda: " " * rng.randint(1, 5),
             lambda: rng.choice(almost), lambda: rng.choice(["\n", "\r\n", "\t", "\0"]),
             lambda: rng.choice(categories[rng.choice(list(categories))]),
             lambda: "".join(rng.choice("ab 1'.s") for _ in range(rng.randint(1, 8)))]
    for _ in range(n):
        yield "".join(rng.choice(parts)() for _ in range(rng.randint(1, 10)))
    for letters in ("a", "ab", "aab", "abc", "sea", "é", "a1", "=-.", "海は"):
        for size in (39, 40, 41, 42, 64, 100, 257):
            yield "".join(rng.choice(letters) for _ in range(size))
    for size in (40, 41, 63, 64, 1000):
        yield "a" * size
        yield " " * size + "a"
        yield "=" * size


CATEGORY = {c: regex.compile(r"\p{%s}" % c) for c in
            "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cn"
            .split()}


def class_digest():
    """One letter a code point, surrogates left out."""
    letter, number, blank = (regex.compile(p) for p in (r"\p{L}", r"\p{N}", r"\s"))
    digest = hashlib.sha256()
    for c in range(0x110000):
        if not 0xD800 <= c < 0xE000:
            s = chr(c)
            digest.update(b"L" if letter.match(s) else b"N" if number.match(s) else
                          b"S" if blank.match(s) else b"O")
    return digest.hexdigest()


def dump(name, text):
    with open(os.path.join(HERE, name), "w", encoding="utf-8", newline="\n") as f:
        f.write(text)


def make():
    rng = random.Random(20)
    merges = train(TEXT, 250)
    tokens = [*SIGNS.values(), *dict.fromkeys(a + b for a, b in merges), "<|endoftext|>"]
    vocab = {t: i for i, t in enumerate(tokens)}
    # The same merges in another order: products before their parts, so that "every
    # occurrence of the lowest rank" and "the lowest pair first" part ways.
    odd = merges[:]
    rng.shuffle(odd)
    plain, shuffled = Tokenizer(vocab, merges), Tokenizer(vocab, odd)
    cases = []
    for text in dict.fromkeys(random_texts(rng, 450)):
        cases.append({"text": text, "pieces": [len(p.encode()) for p in PATTERN.findall(text)],
                      "ids": plain.encode(text), "odd": shuffled.encode(text)})
    os.makedirs(HERE, exist_ok=True)
    dump("vocab.json", json.dumps(vocab, ensure_ascii=False))
    for name, list_ in (("merges.txt", merges), ("odd_merges.txt", odd)):
        dump(name, "#version: 0.2\n" + "".join("%s %s\n" % m for m in list_))
    rows = [json.dumps(c, ensure_ascii=False, separators=(",", ":")) for c in cases]
    dump("cases.json", "[\n" + ",\n".join(rows) + "\n]\n")
    dump("classes.json", json.dumps({"unicode": "15.0.0", "sha256": class_digest()}) + "\n")


def data(folder):
    with open(os.path.join(folder, "tokenizer/vocab.json"), encoding="utf-8") as f:
        vocab = json.load(f)
    with open(os.path.join(folder, "tokenizer/merges.txt"), encoding="utf-8") as f:
        merges = [tuple(line.split()) for line in f.read().split("\n")[1:-1]]
    tokenizer = Tokenizer(vocab, merges)
    rows = []
    for name, opener in (("wikitext/wiki.test.raw", open), ("corpus/tinyshakespeare.txt", open),
                         ("corpus/novels.txt.xz", lzma.open)):
        with opener(os.path.join(folder, name), "rb") as f:
            text = f.read().decode()
        digest, n = hashlib.sha256(), 0
        for m in PATTERN.finditer(text):
            ids = tokenizer.bpe(m.group())
            digest.update(struct.pack("<%di" % len(ids), *ids))
            n += len(ids)
        rows.append(json.dumps({"file": name, "n": n, "sha256": digest.hexdigest()}))
    print("[\n" + ",\n".join(rows) + "\n]")


if __name__ == "__main__":
    data(sys.argv[2]) if sys.argv[1:2] == ["data"] else make()
