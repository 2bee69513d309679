puts "hello world"
