import "io" for Stdin

var total = 0
for (i in 1..3) total = total + Num.fromString(Stdin.readLine())
System.print("Σ = %(total) ✓")
