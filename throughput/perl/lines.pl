print "hello world\n" for 1 .. $ARGV[0];
