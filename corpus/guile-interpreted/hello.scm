!#
(display "hello world")
(newline)
