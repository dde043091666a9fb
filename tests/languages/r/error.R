stop("no good")
