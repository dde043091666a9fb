main(_) ->
    io:format("Σ = ~p ✓~n", [sum(0)]).

sum(Total) ->
    case io:fread("", "~d") of
        {ok, [Value]} -> sum(Total + Value);
        eof -> Total
    end.
