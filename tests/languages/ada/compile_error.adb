procedure Broken is
begin
   Undeclared;
end Broken;
