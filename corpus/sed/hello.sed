#n
1i\
hello world
