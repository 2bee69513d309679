(defun main () (write-line "hello world"))
(save-lisp-and-die "test" :executable t :toplevel #'main)
