fun main () = print "hello world\n";
