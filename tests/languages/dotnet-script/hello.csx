using System.Linq;

var total = Console.In.ReadToEnd().Split('\n').Where(line => line != "").Sum(int.Parse);
Console.WriteLine($"Σ = {total} ✓");
