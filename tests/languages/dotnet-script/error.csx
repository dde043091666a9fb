throw new Exception("no good");
