int total = System.in.readLines().sum { it as int }
println "Σ = $total ✓"
