IO.puts("hello world")
