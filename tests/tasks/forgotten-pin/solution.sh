#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# Ten thousand keys, one of which leads to a text with that hash.
python3 - <<'PY'
import hashlib
data = open("note.enc", "rb").read()
for pin in range(10000):
    key = hashlib.pbkdf2_hmac("sha256", b"%04d" % pin, b"salt", 200)
    stream = b"".join(hashlib.sha256(key + bytes([i])).digest() for i in range(4))
    text = bytes(a ^ b for a, b in zip(data[32:], stream))
    if hashlib.sha256(text).digest() == data[:32]:
        open("note.txt", "wb").write(text)
        break
PY
