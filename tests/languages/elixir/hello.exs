total =
  IO.stream(:stdio, :line)
  |> Stream.map(&String.to_integer(String.trim(&1)))
  |> Enum.sum()

IO.puts("Σ = #{total} ✓")
