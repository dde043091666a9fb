#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# UTF-8 without a mark, and lines that end as here.
for file in texts/*; do
  python3 - "$file" <<'PY'
import pathlib, sys
path = pathlib.Path(sys.argv[1])
data = path.read_bytes()
for encoding in ("utf-16",) if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "latin-1"):
    try:
        text = data.decode(encoding)
        break
    except UnicodeDecodeError:
        continue
path.write_bytes(text.replace("\r\n", "\n").encode())
PY
done
