const lines = require("fs").readFileSync(0, "utf8").trim().split("\n");
const total = lines.map(Number).reduce((a, b) => a + b, 0);
console.log(`Σ = ${total} ✓`);
