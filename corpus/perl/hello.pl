print "hello world\n";
