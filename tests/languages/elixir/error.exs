raise "no good"
