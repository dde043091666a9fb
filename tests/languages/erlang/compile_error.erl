main(_) ->
    undefined_function().
