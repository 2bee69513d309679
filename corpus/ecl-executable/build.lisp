(compile-file "hello.lisp" :system-p t)
(c:build-program "test" :lisp-files '("hello.o"))
(quit)
