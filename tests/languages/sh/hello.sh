total=0
while read -r line; do
  total=$((total + line))
done
echo "Σ = $total ✓"
