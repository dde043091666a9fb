total = sum(parse(Int, line) for line in eachline(stdin))
println("Σ = $total ✓")
