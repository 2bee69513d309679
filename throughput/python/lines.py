import sys

for _ in range(int(sys.argv[1])):
    print("hello world")
