() = printf("hello world\n");
