program Failing;
begin
  WriteLn(1 div ParamCount);
end.
