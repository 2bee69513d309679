main(_) ->
    io:format("hello world~n").
