int main(int arguments) {
  return 1 / (arguments - 1);
}
