(println "hello world")
(exit)
