BEGIN { print "hello world" }
