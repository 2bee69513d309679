write, format="%s\n", "hello world";
