say "hello world";
