const text: string = await Bun.stdin.text();
const total = text.trim().split("\n").map(Number).reduce((a, b) => a + b, 0);
console.log(`Σ = ${total} ✓`);
