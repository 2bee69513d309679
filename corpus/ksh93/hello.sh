print hello world
