let () = print_int "text"
