cat("hello world\n")
