print missing
