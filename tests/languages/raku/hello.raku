my $total = [+] lines».Int;
say "Σ = $total ✓";
