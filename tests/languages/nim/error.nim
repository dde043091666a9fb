raise newException(ValueError, "no good")
