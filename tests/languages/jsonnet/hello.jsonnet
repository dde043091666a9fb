local sum(values) = std.foldl(function(a, b) a + b, values, 0);

{ sum: 'Σ = %d ✓' % sum([3, 4, 5]) }
