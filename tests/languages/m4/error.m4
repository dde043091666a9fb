m4exit(3)
