# timed_hello of Hello World Overdone: times the first and the hundredth print, and two readings of the clock itself.
# The marker bypasses the buffer of $stdout. In the post it does not, so the timed puts there is the second one.
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
