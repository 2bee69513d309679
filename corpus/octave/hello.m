printf("hello world\n");
