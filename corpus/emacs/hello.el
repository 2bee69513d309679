(princ "hello world\n")
