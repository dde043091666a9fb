error("no good")
