with Ada.Text_IO;

procedure Hello is
begin
   Ada.Text_IO.Put_Line ("hello world");
end Hello;
