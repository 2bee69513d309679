(write standard-output "hello world\n")
