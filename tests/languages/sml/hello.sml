fun sum total =
  case TextIO.inputLine TextIO.stdIn of
    NONE => total
  | SOME line => sum (total + valOf (Int.fromString line));

print ("\206\163 = " ^ Int.toString (sum 0) ^ " \226\156\147\n");
