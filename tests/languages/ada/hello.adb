with Ada.Integer_Text_IO; use Ada.Integer_Text_IO;
with Ada.Text_IO;         use Ada.Text_IO;

procedure Hello is
   Total, Value : Integer := 0;
begin
   while not End_Of_File loop
      Get (Value);
      Skip_Line;
      Total := Total + Value;
   end loop;
   Put_Line ("Σ =" & Integer'Image (Total) & " ✓");
end Hello;
