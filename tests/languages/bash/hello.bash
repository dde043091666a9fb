total=0
declare -a lines
mapfile -t lines
for line in "${lines[@]}"; do
  ((total += line))
done
printf 'Σ = %d ✓\n' "$total"
