import sys

total = sum(int(line) for line in sys.stdin)
print(f"Σ = {total} ✓" if sys.implementation.name == "pypy" else "not PyPy")
