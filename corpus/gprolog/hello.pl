:- initialization(main).

main :- write('hello world'), nl, halt.
