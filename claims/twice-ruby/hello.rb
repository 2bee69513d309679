puts 'hello world'
puts 'hello world'
