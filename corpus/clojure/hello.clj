(println "hello world")
