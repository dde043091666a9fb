var total = 0
while let line = readLine() {
  total += Int(line)!
}
print("Σ = \(total) ✓")
