.( hello world) cr
bye
