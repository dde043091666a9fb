import std.algorithm : map, sum;
import std.conv : to;
import std.stdio;

void main() {
  const total = stdin.byLine.map!(line => line.to!int).sum;
  writefln("Σ = %d ✓", total);
}
