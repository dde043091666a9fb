total = STDIN.each_line.sum(&.to_i)
puts "Σ = #{total} ✓"
