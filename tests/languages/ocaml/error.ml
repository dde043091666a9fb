let () = print_int (1 / (Array.length Sys.argv - 1))
