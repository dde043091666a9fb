10 for i = 1 to 3
20 print i
30 next i
40 end
