#!/usr/bin/python3
"""Two books tokenized as Languini's scripts do it, and the sum of its integrity test.

    tests/golden/books_reference.py      (NumPy 1.24, Debian's sentencepiece)

Makes in tests/golden/books/: texts/NAME.txt; bytes_400/files/NAME.npy, their ids by the model of
sentencepiece_reference.sh; file_list_train.npy, which names them with their lengths; integrity.txt.
"""
import hashlib
import os
import subprocess

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "sentencepiece", "bytes.model")
BOOKS = {
    "one": "Once upon a time there was a little girl.  She had a red ball – and a dog.",
    "two": "The dog ran to the big tree, and Tim was happy. ½ of it is naïve.",
}

os.chdir(os.path.join(HERE, "books"))
os.makedirs("texts", exist_ok=True)
os.makedirs("bytes_400/files", exist_ok=True)
rows = []
for name, text in BOOKS.items():
    with open(f"texts/{name}.txt", "w") as f:
        f.write(text)
    ids = subprocess.run(["spm_encode", "--model", MODEL, "--output_format=id"], input=text + "\n",
                         capture_output=True, text=True, check=True).stdout.split()
    np.save(f"bytes_400/files/{name}.npy", np.asarray([int(i) for i in ids], dtype=np.uint16))
    rows.append((f"files/{name}.npy", len(ids)))
np.save("file_list_train.npy", np.asarray(rows))

files = []
for folder, _, names in os.walk("bytes_400"):
    files += [(name, os.path.getsize(os.path.join(folder, name))) for name in names]
hasher = hashlib.sha256()
for name, size in sorted(files):
    hasher.update(f"{size}\t{name}\n".encode())
with open("integrity.txt", "w") as f:
    f.write(hasher.hexdigest() + "\n")
