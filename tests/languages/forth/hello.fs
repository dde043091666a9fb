: sum ( -- n )
  0 begin
    pad 80 stdin read-line throw
  while
    pad swap s>number? 2drop +
  repeat drop ;

." Σ = " sum 0 .r ."  ✓" cr
