error("no good");
