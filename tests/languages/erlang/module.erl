-module(greeter).
-export([start/0]).

start() ->
    Parent = self(),
    spawn(greeter, answer, [Parent]),
    receive {answer, Text} -> io:format("started with ~ts~n", [Text]) end.

answer(Parent) -> Parent ! {answer, "✓"}.
