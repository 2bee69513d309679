println "hello world"
