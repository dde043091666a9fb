integer total=0
while read -r line; do
  ((total += line))
done
print "Σ = $total ✓"
