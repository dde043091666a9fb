class Program {
  static int Main(string[] arguments) { return 1 / arguments.Length; }
}
