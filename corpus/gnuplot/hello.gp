set print "-"
print "hello world"
