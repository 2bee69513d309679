(write-line "hello world")
(quit)
