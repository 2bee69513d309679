puts 'hello world'
