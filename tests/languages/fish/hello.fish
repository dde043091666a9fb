set total 0
while read line
    set total (math $total + $line)
end
echo "Σ = $total ✓"
