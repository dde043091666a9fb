identification division.
program-id. answer.
procedure division.
*> In free form a line may start anywhere.
display "42".
stop run.
