print("hello world")
quit
