print_endline "hello world"
