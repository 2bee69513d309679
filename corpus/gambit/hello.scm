(display "hello world")
(newline)
