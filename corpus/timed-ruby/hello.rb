# The seed's timed_hello: the first and the hundredth print by the language's own clock, what two readings cost besides.
# The marker is written past the buffer of $stdout; the seed's was put there, which made its timed puts the second one.
def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

clock = (1..100).map { -now + now }.min
$stdout.syswrite(">>>> before print >>>>>\n")
taken = Array.new(101)
i = 1
while i <= 100
  start = now
  puts 'hello world'
  stop = now
  taken[i] = stop - start
  i += 1
end
$stderr.puts "first #{taken[1]} ns, hundredth #{taken[100]} ns, clock #{clock} ns"
