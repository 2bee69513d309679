call writefile(["hello world"], "/dev/stdout")
quitall!
