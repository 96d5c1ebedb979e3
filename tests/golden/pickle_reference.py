#!/usr/bin/python3
"""Pickled lists of lists of token ids, as Python and NumPy write them.

    tests/golden/pickle_reference.py      (NumPy 1.24)

Makes tests/golden/pickle/KIND-PROTOCOL.pkl: the documents of tests/unit/train/data/test_pickle_ids.c
as lists, as tuples, as arrays, as lists of NumPy's numbers, and each pickled alone, one after another.
"""
import os
import pickle

import numpy as np

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pickle")
DOCUMENTS = [[1, 2, 50256], [300, 0, 65535, 128, 255, 256, 50256], [], [7], [9, 8, 7, 6]]


def write(name, *values, protocol):
    with open(os.path.join(FOLDER, name), "wb") as f:
        for value in values:
            pickle.dump(value, f, protocol=protocol)


os.makedirs(FOLDER, exist_ok=True)
for protocol in 2, 3, 4, 5:
    write(f"lists-{protocol}.pkl", DOCUMENTS, protocol=protocol)
    write(f"tuples-{protocol}.pkl", tuple(tuple(d) for d in DOCUMENTS), protocol=protocol)
    write(f"numbers-{protocol}.pkl", [[np.uint16(i) for i in d] for d in DOCUMENTS], protocol=protocol)
    write(f"several-{protocol}.pkl", *DOCUMENTS, protocol=protocol)
    for kind in "uint16", "int32", "int64":
        write(f"{kind}-{protocol}.pkl", [np.array(d, kind) for d in DOCUMENTS], protocol=protocol)
