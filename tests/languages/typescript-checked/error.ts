throw new Error("no good");
