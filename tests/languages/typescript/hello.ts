import { readFileSync } from "fs";

enum Sign {
  Good = "✓",
}

function total(lines: string[]): number {
  return lines.map(Number).reduce((a: number, b: number): number => a + b, 0);
}

const lines: string[] = readFileSync(0, "utf8").trim().split("\n");
const value: number = await Promise.resolve(total(lines));
const path = require("path") as typeof import("path");
console.log(`Σ${path.sep === "/" ? " " : ""}= ${value} ${Sign.Good}`);
