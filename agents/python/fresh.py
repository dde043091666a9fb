# SPDX-License-Identifier: Apache-2.0
"""What must differ from one context to the next, and from one execution to the next."""

from __future__ import annotations

import builtins
import ctypes
import gc
import os
import random
import sys

__builtins__ = dict(vars(builtins))

# Net allocations until the first collection; the first cell should meet none.
FIRST_COLLECTION = 50_000

_collecting = [None]

# Of numpy's MT19937 (numpy/random/src/mt19937/mt19937.h): `uint32_t key[624]; int pos;`.
KEY_WORDS = 624
_AT_END = KEY_WORDS.to_bytes(4, sys.byteorder)
# Where numpy's global generator lies; nothing where that is not known.
_numpy_state = [None]


def prepare() -> None:
    """In a zygote: finds what its forks shall write. numpy's own seeding writes to 80 of the pages
    that they share."""
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is None:
        return
    # It also forgets the second of a pair of normal numbers.
    numpy_random.seed()
    try:
        generator = numpy_random.mtrand._rand._bit_generator
        state = generator.state["state"]
        address = generator.ctypes.state_address
        bytes_there = ctypes.string_at(address, 4 * KEY_WORDS + 4)
    except Exception:
        return
    if bytes_there == state["key"].tobytes() + int(state["pos"]).to_bytes(4, sys.byteorder):
        _numpy_state[0] = address


def renew(hooks=(), used=False) -> None:
    """Random sources that a fork copied would give every context the same numbers. `used`: the
    guest's code has run since prepare()."""
    random.seed()
    modules = sys.modules
    numpy_random = modules.get("numpy.random")
    if numpy_random is not None:
        if used or _numpy_state[0] is None:
            numpy_random.seed()
        else:
            seed = os.urandom(4 * KEY_WORDS) + _AT_END
            ctypes.memmove(_numpy_state[0], seed, len(seed))
    tempfile = modules.get("tempfile")
    if tempfile is not None:
        tempfile._name_sequence = None
        tempfile.tempdir = None
    uuid = modules.get("uuid")
    if uuid is not None:
        uuid._last_timestamp = None
        uuid._node = None
    # OpenSSL knows a fork by its pid; in another pid namespace that may be the same.
    ssl = modules.get("_ssl")
    if ssl is not None:
        ssl.RAND_add(os.urandom(32), 32.0)
    process = modules.get("multiprocessing.process")
    if process is not None:
        process.current_process().authkey = os.urandom(32)
    for hook in hooks:
        hook()
    if not gc.isenabled():
        _collecting[0] = gc.get_threshold()
        gc.set_threshold(FIRST_COLLECTION, *_collecting[0][1:])
        gc.enable()


def collect_again() -> None:
    """After the first cell: garbage is collected as always."""
    if _collecting[0] is not None:
        if gc.get_threshold()[0] == FIRST_COLLECTION:
            gc.set_threshold(*_collecting[0])
        _collecting[0] = None


def enter(env: dict, cwd: str | None) -> dict:
    """Sets what holds for one execution; answers what `leave` restores."""
    if cwd is not None:
        os.chdir(cwd)
    saved = {}
    for name, value in env.items():
        saved[name] = os.environ.get(name)
        os.environ[name] = str(value)
    return saved


def leave(saved: dict) -> None:
    for name, value in saved.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
