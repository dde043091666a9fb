program Hello;

var
  Total, Value: Integer;
begin
  Total := 0;
  while not Eof do
  begin
    ReadLn(Value);
    Total := Total + Value;
  end;
  WriteLn('Σ = ', Total, ' ✓');
end.
