int main() {
  Intl.setlocale();
  int total = 0;
  string? line;
  while ((line = stdin.read_line()) != null) {
    total += int.parse(line);
  }
  print("Σ = %d ✓\n", total);
  return 0;
}
