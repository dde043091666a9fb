total = 0
do while lines() > 0
  parse pull value
  if value = "" then leave
  total = total + value
end
say "Σ =" total "✓"
