let total =
    Seq.initInfinite (fun _ -> stdin.ReadLine())
    |> Seq.takeWhile (isNull >> not)
    |> Seq.sumBy int

printfn "Σ = %d ✓" total
