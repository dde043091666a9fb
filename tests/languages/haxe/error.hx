class Main {
  static function main() {
    throw "no good";
  }
}
