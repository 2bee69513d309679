program hello;
begin
  writeln('hello world');
end.
