println(div(1, 0))
