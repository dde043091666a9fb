using System;
using System.Collections.Generic;
using System.Linq;
using System.Numerics;

class Program {
  static IEnumerable<string> Lines() {
    string line;
    while ((line = Console.ReadLine()) != null) yield return line;
  }

  static void Main() {
    BigInteger total = Lines().Select(int.Parse).Sum();
    Console.WriteLine($"Σ = {total} ✓");
  }
}
