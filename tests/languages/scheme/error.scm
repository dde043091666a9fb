(error "no good")
