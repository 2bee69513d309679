fun main (_, _) = (print "hello world\n"; OS.Process.success);
val _ = SMLofNJ.exportFn ("hello", main);
