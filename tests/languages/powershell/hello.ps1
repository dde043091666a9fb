$total = 0
while ($null -ne ($line = [Console]::In.ReadLine())) { $total += [int]$line }
"Σ = $total ✓"
