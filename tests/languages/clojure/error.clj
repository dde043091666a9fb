(println (/ 1 0))
