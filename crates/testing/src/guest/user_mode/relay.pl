# Between a guest's serial line and the program that speaks over it; the other end is in guest/user_mode/line.rs.
# arguments: LINE, the pipe to the program, the pipe from it
#
# A line that was stopped because its buffer of 4096 bytes was full is never read again (User-Mode Linux 6.12). So this machine has
# at most a window of bytes on the way, and learns of each grain that the program's pipe has taken.
use strict;
use constant { GRAIN => 256, WINDOW => 1024, TAKEN => "\x06", ESCAPE => "\x10", FLIP => 0x40 };

my ($tty, $to, $from) = @ARGV;
$SIG{PIPE} = 'IGNORE';
open(my $line, '+<', $tty) or die "$tty: $!\n";
open(my $program, '>', $to) or die "$to: $!\n";
open(my $answers, '<', $from) or die "$from: $!\n";

sub say_all {
    my ($bytes) = @_;
    while (length $bytes) {
        my $written = syswrite($line, $bytes);
        # Nobody is there any more.
        return unless $written;
        substr($bytes, 0, $written) = '';
    }
}

# From here on bytes pass as they are: the whole window is free.
say_all(TAKEN x (WINDOW / GRAIN));
my ($pending, $taken, $open) = ('', 0, 1);
while (1) {
    my ($read, $write) = ('', '');
    vec($read, fileno($answers), 1) = 1;
    vec($read, fileno($line), 1) = 1 if $open && $pending eq '';
    vec($write, fileno($program), 1) = 1 if $pending ne '';
    select($read, $write, undef, undef) > 0 or next;
    if ($pending ne '' && vec($write, fileno($program), 1)) {
        # Less than PIPE_BUF goes whole. A program that does not read any more loses it.
        syswrite($program, $pending);
        $taken += length $pending;
        $pending = '';
        say_all(TAKEN x int($taken / GRAIN));
        $taken %= GRAIN;
    }
    if ($open && vec($read, fileno($line), 1)) {
        unless (sysread($line, $pending, WINDOW)) {
            ($open, $pending) = (0, '');
            close $program;
        }
    }
    if (vec($read, fileno($answers), 1)) {
        sysread($answers, my $bytes, 4096) or last;
        $bytes =~ s/([\x06\x10])/ESCAPE . chr(ord($1) ^ FLIP)/ge;
        say_all($bytes);
    }
}
