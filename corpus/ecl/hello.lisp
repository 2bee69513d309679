(write-line "hello world")
