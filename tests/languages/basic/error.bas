error "no good"
