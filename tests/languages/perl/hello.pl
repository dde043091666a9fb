use strict;
use warnings;
use List::Util qw(sum);

my $total = sum(map { chomp; $_ } <STDIN>);
print "Σ = $total ✓\n";
