@ total = 0
set line = "$<"
while ("$line" != "")
  @ total = $total + $line
  set line = "$<"
end
echo "Σ = $total ✓"
