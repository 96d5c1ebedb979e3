#!/usr/bin/env python3
"""BpeTrainer of Hugging Face's tokenizers (tokenizers/src/models/bpe/trainer.rs and word.rs)
written out by hand, as plainly as can be: what the trainer of prattle is compared with.

    bpe_train_reference.py              writes bpe_train/ beside itself: a corpus of many
                                        ties and odd words, and what is learned from it
    bpe_train_reference.py data DATA    prints bpe_train/data.json: what is learned from
                                        corpus/tinyshakespeare.txt in DATA
"""
import collections, hashlib, heapq, json, os, random, sys
from tokenizer_oracle import PATTERN, SIGNS, TEXT, spell

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bpe_train")
END = "<|endoftext|>"


def merge_word(word, left, right, merged):
    """Word::merge: the word after it, and the pairs that came (+1) and went (-1)."""
    changes, word, i = [], list(word), 0
    while i < len(word):
        if word[i] == left and i + 1 < len(word) and word[i + 1] == right:
            if i > 0:
                changes += [((word[i - 1], left), -1), ((word[i - 1], merged), 1)]
            word[i:i + 2] = [merged]
            if i < len(word) - 1:
                changes += [((right, word[i + 1]), -1), ((merged, word[i + 1]), 1)]
        i += 1
    return word, changes


def train(texts, vocab_size, min_frequency=0):
    """The tokens by id, and the merges by rank."""
    counts = collections.Counter(p for t in texts for p in PATTERN.findall(t))
    tokens = [END] + sorted(SIGNS.values())
    ids = {t: i for i, t in enumerate(tokens)}
    words = [[ids[s] for s in spell(p)] for p in counts]
    counts = list(counts.values())

    # The queue: highest count, then smallest pair.
    pair_counts, places, queue, step = collections.Counter(), {}, [], 0

    def enqueue():
        for pair, where in places.items():
            if pair_counts[pair] > 0:
                heapq.heappush(queue, (-pair_counts[pair], pair, step, where))
        places.clear()

    for w, word in enumerate(words):
        for pair in zip(word, word[1:]):
            pair_counts[pair] += counts[w]
            places.setdefault(pair, set()).add(w)
    enqueue()

    merges = []
    while len(tokens) < vocab_size and queue:
        count, pair, made, where = heapq.heappop(queue)
        if -count != pair_counts[pair]:
            heapq.heappush(queue, (-pair_counts[pair], pair, made, where))
            continue
        if -count < 1 or -count < min_frequency:
            break
        text = tokens[pair[0]] + tokens[pair[1]]
        if text not in ids:
            ids[text] = len(tokens)
            tokens.append(text)
        merges.append(pair)
        step += 1
        for w in where:
            words[w], changes = merge_word(words[w], *pair, ids[text])
            for changed, sign in changes:
                pair_counts[changed] += sign * counts[w]
                if sign > 0:
                    places.setdefault(changed, set()).add(w)
        enqueue()

    # The library keeps them in a dictionary from pair to rank: of a pair that was merged
    # several times the last counts.
    rank = {pair: i for i, pair in enumerate(merges)}
    return tokens, [tokens[a] + " " + tokens[b] for a, b in sorted(rank, key=rank.get)]


def documents(text):
    return text.split(END)


def corpus():
    """Plain text, and words of two or three letters drawn so that ties and tokens that
    are made in several ways abound."""
    rng, lines = random.Random(7), [TEXT, END, "don't<|endoftext|> don't <|endoftext|>\n"]
    for letters, n, longest in ("a", 12, 40), ("ab", 160, 24), ("abc", 120, 12), ("01", 60, 16):
        for _ in range(n):
            word = "".join(rng.choice(letters) for _ in range(rng.randint(1, longest)))
            lines.append(word + rng.choice([" ", " ", "  ", "\n", "\n\n\n", ", "]))
    for _ in range(120):
        lines.append("".join(rng.choice("éèüßЖжшあい海🙂½") for _ in range(rng.randint(1, 6))) + " ")
    lines.append(END + "   \t the end   ")
    return "".join(lines)


def sha256(lines):
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def main():
    if sys.argv[1:2] == ["data"]:
        with open(os.path.join(sys.argv[2], "corpus/tinyshakespeare.txt"), newline="") as f:
            tokens, merges = train(documents(f.read()), 1000)
        print(json.dumps({"vocab_size": 1000, "merges": len(merges), "tokens_sha256": sha256(tokens),
                          "merges_sha256": sha256(merges)}))
        return
    text, runs = corpus(), []
    os.makedirs(HERE, exist_ok=True)
    with open(os.path.join(HERE, "corpus.txt"), "w", newline="") as f:
        f.write(text)
    for size, least in (257, 0), (258, 0), (300, 0), (500, 0), (777, 0), (5000, 0), (5000, 3):
        tokens, merges = train(documents(text), size, least)
        runs.append({"vocab_size": size, "min_frequency": least, "n_tokens": len(tokens),
                     "tokens_sha256": sha256(tokens), "merges": merges})
    with open(os.path.join(HERE, "merges.json"), "w") as f:
        json.dump(runs, f, ensure_ascii=False, indent=0)
        f.write("\n")


if __name__ == "__main__":
    main()
