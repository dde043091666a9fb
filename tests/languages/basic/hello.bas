total = 0
while not eof(0)
  line input "" value$
  total = total + val(value$)
wend
print "Σ = ", total, " ✓"
