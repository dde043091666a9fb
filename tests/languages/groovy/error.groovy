println 1.intdiv(0)
