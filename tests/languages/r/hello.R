lines <- readLines(file("stdin"))
total <- sum(as.integer(lines))
cat(sprintf("Σ = %d ✓\n", total))
