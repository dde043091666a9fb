with Ada.Command_Line;
with Ada.Text_IO;

procedure Failing is
   Zero : constant Integer := Ada.Command_Line.Argument_Count;
begin
   Ada.Text_IO.Put_Line (Integer'Image (1 / Zero));
end Failing;
