{ total += $1 }
END { printf "Σ = %d ✓\n", total }
