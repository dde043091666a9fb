print (Int.toString (1 div 0));
