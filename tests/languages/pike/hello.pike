int main() {
  int total = 0;
  string line;
  while ((line = Stdio.stdin->gets())) total += (int)line;
  write("%s\n", string_to_utf8(sprintf("\u03a3 = %d \u2713", total)));
  return 0;
}
