export {};
declare const require: (name: string) => any;

const lines: string[] = require("fs").readFileSync(0, "utf8").trim().split("\n");
const total: number = lines.map(Number).reduce((a, b) => a + b, 0);
console.log(`Σ = ${total} ✓`);
