Print("hello world\n");
QUIT;
