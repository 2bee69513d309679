System.out.println("hello world");
/exit
