package Devel::FirstbyteLoads;
# Perl takes this for a debugger, and so loads it before the modules that the command line names. It debugs nothing.
$^P = 0;
sub DB::DB { }

# Measures how long each `require` and `use` takes, with the modules that it loads in turn.
use Time::HiRes ();
my ($process, $depth, @rows) = ($$, 0);

BEGIN {
    *CORE::GLOBAL::require = sub (_) {
        my ($name) = @_;
        # a version, as in `use 5.036`, loads nothing
        return CORE::require($name) if $name !~ /[A-Za-z]/ || exists $INC{$name};
        my $row = [$depth++, '-', $name];
        push @rows, $row;
        my $from = Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC());
        my $value = eval { CORE::require($name) };
        my $error = $@;
        $row->[1] = int 1e9 * (Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC()) - $from);
        $depth--;
        die $error if $error;
        return $value;
    };
}

END {
    # a forked child has its parent's rows
    if ($$ == $process && open my $file, '>', "$ENV{FIRSTBYTE_LOADS}/perl-$$") {
        printf $file "%d\t%s\t%s\t%s\n", @$_, $INC{$_->[2]} // '' for @rows;
    }
}
1;
