(format t "hello world~%")
