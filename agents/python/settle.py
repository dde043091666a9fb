# SPDX-License-Identifier: Apache-2.0
"""Lays out a zygote's memory so that its forks write to few of the pages that they share.

A warm heap is full of holes. A fork that fills them copies a page for nearly every object that it
makes; so the holes are filled here, and what a fork makes lies side by side on pages of its own.
"""

from __future__ import annotations

import builtins
import ctypes
import gc
import sys

__builtins__ = dict(vars(builtins))

# The versions of CPython whose allocator was found to be as the next four say; any other one is left
# as it is, which costs time and memory and nothing else.
TESTED = {(3, 10), (3, 11), (3, 12), (3, 13)}

# CPython's allocator of small objects: blocks of one size fill a pool.
POOL_SIZE = 16384
POOL_HEADER = 48
ALIGNMENT = 16
LARGEST_BLOCK = 512
# Blocks of one size that are tried at most.
BLOCKS_LIMIT = 200_000

# Sizes of holes in libc's heap, the large ones first.
HOLES = (65536, 16384, 4096, 2048, 1024, 512, 256, 128, 56, 24)
HOLES_LIMIT = 100_000

# What is too small for bytes.
_SMALLEST = {ALIGNMENT: object, 2 * ALIGNMENT: lambda: int("1099511627776")}

_kept = []


def settle() -> None:
    fonts = sys.modules.get("matplotlib.font_manager")
    if fonts is not None:
        # Else each fork would do it, as matplotlib has asked for.
        fonts._get_font.cache_clear()
    gc.collect()
    gc.disable()
    if knows_allocator():
        _fill_pools()
    else:
        version = ".".join(map(str, sys.version_info[:2]))
        print(f"memory is not laid out for forks: Python {version} was not tested", file=sys.stderr)
    _fill_heap()
    # Counting what is here now would write to all its pages.
    gc.freeze()


def knows_allocator() -> bool:
    return sys.implementation.name == "cpython" and sys.version_info[:2] in TESTED


def _fill_pools() -> None:
    """Allocates blocks of each size until one pool has been filled from its beginning to its end:
    then no other has a hole."""
    # An empty one has 33 bytes.
    empty = b"".__sizeof__()
    for size in range(ALIGNMENT, LARGEST_BLOCK + 1, ALIGNMENT):
        make = _SMALLEST.get(size) or (lambda: bytes(size - empty))
        blocks = []
        in_row = (POOL_SIZE - POOL_HEADER) // size - 1
        row = 0
        last = 0
        while row < in_row and len(blocks) < BLOCKS_LIMIT:
            block = make()
            blocks.append(block)
            row = row + 1 if id(block) == last + size else 0
            last = id(block)
        _kept.append(blocks)


class _HeapState(ctypes.Structure):
    """What mallinfo2(3) answers."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks")
        + ("uordblks", "fordblks", "keepcost")
    ]


def _fill_heap() -> None:
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):
        # Another libc has other holes.
        return
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = [ctypes.c_size_t]
    libc.mallinfo2.restype = _HeapState
    for size in HOLES:
        for _ in range(HOLES_LIMIT):
            before = libc.mallinfo2()
            if before.fordblks - before.keepcost < size:
                break
            libc.malloc(size)
            if libc.mallinfo2().keepcost != before.keepcost:
                # It came from the end of the heap: there is no such hole left.
                break
