integer total
for line in ${(f)"$(cat)"}; (( total += line ))
print "Σ = $total ✓"
