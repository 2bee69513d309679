# timed_hello of Hello World Overdone: times the first and the hundredth print, and two readings of the clock itself.
# The marker bypasses the buffer of STDOUT.
use strict;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

my ($first, $hundredth, $clock) = (0, 0, 1);
for (1 .. 100) {
    my $start = clock_gettime(CLOCK_MONOTONIC);
    my $taken = clock_gettime(CLOCK_MONOTONIC) - $start;
    $clock = $taken if $taken < $clock;
}
syswrite(STDOUT, ">>>> before print >>>>>\n");
for my $i (1 .. 100) {
    my $start = clock_gettime(CLOCK_MONOTONIC);
    print "hello world\n";
    my $taken = clock_gettime(CLOCK_MONOTONIC) - $start;
    $first = $taken if $i == 1;
    $hundredth = $taken;
}
printf STDERR "first %.0f ns, hundredth %.0f ns, clock %.0f ns\n", $first * 1e9, $hundredth * 1e9, $clock * 1e9;
