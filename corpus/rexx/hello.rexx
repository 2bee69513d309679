say 'hello world'
