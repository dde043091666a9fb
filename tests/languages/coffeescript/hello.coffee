lines = require("fs").readFileSync(0, "utf8").trim().split "\n"
total = lines.map(Number).reduce (a, b) -> a + b
console.log "Σ = #{total} ✓"
