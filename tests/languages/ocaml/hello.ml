let rec sum total =
  match input_line stdin with
  | line -> sum (total + int_of_string line)
  | exception End_of_file -> total

let words = Str.split (Str.regexp " ") "Σ ="
let () = Printf.printf "%s %d ✓\n" (String.concat " " words) (sum 0)
