#!/usr/bin/env python3
"""Writes tests/fuzz/corpus/pickle/legacy.bin: a state dict as torch.save wrote it before 1.6.

    torch_legacy_reference.py FILE   (torch 1.13)
"""
import sys
import torch

w = torch.arange(6, dtype=torch.float32).reshape(2, 3)
state = {
    "wte.weight": w,
    "lm_head.weight": w,  # tied: one storage
    "row": w[1],  # a view
    "half": torch.tensor([1.0, -2.0, 0.5], dtype=torch.float16),
    "bfloat": torch.tensor([[3.0], [4.0]], dtype=torch.bfloat16),
    "mask": torch.tensor([True, False]),
    "epoch": 3,
}
torch.save(state, sys.argv[1], _use_new_zipfile_serialization=False)
