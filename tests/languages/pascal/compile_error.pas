program Broken;
begin
  Undeclared := 1;
end.
