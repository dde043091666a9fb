#!/usr/bin/env escript
main(Arguments) ->
    io:format("~p~n", [1 div length(Arguments)]).
