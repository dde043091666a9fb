import std/strutils

var total = 0
for line in stdin.lines:
  total += parseInt(line)
echo "Σ = ", total, " ✓"
