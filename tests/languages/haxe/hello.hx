class Main {
  static function main() {
    var total = 0;
    try {
      while (true) total += Std.parseInt(Sys.stdin().readLine());
    } catch (end:haxe.io.Eof) {}
    Sys.println('Σ = $total ✓');
  }
}
