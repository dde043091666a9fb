q3
