{ values[NR] = $1 }

END {
  PROCINFO["sorted_in"] = "@val_num_asc"
  for (i in values) total += values[i]
  printf "Σ = %d ✓\n", total
}
