stats "-" using 1 nooutput
3
4
5
e
set print "-"
print sprintf("Σ = %d ✓", STATS_sum)
set terminal svg
set output "plot.svg"
plot sin(x)
