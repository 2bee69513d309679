print("hello world");
