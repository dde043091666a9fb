no-such-word
