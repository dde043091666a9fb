const text: string = await new Response(Deno.stdin.readable).text();
const total = text.trim().split("\n").map(Number).reduce((a, b) => a + b, 0);
console.log(`Σ = ${total} ✓`);
