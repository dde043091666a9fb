total = sum(fscanf(stdin, "%d"));
printf("Σ = %d ✓\n", total);
