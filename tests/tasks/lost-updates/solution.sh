#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# A lock beside the file, and a new file in place of a half-written one.
cat > count.py <<'END'
import fcntl, os, sys, time
def add(path, amount):
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(path) as file:
            value = int(file.read())
        time.sleep(0.0005)
        with open(path + ".new", "w") as file:
            file.write(str(value + amount))
        os.replace(path + ".new", path)
if __name__ == "__main__":
    for _ in range(int(sys.argv[2])):
        add(sys.argv[1], 1)
END
