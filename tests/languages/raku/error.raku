die "no good";
