echo hello world\n
