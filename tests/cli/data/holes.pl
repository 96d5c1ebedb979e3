# Counts sentences in which something is missing that a template of Wikipedia showed.
#
#   holes.pl TITLES FILE [show]    JSON lines whose text begins with one of the titles
use utf8;
use strict;
use warnings;
my ($titles, $file, $show) = @ARGV;
binmode(STDERR, ":utf8");
my %wanted;
open(my $t, "<:utf8", $titles) or die "$titles: $!";
while (<$t>) { chomp; $wanted{$_} = 1 }
my @holes = (
    qr/\(\s*[,;)]/,                                                          # ( ), (, born
    qr/\s[,;](?:\s|$)/,                                                      # an area of , is
    qr/\b(?:of|about|between|than|approximately|around|over|nearly|roughly|an|the) [,.;)]/,
    qr/\b(?:of|between|from) (?:and|per|to)\b/,                              # an area of and a
    qr/\b(?:density|length|width|height|area|population|elevation|temperature|total|minimum|maximum) of in\b/,
    qr/\b(?i:about|approximately|around|nearly|roughly|extends) (?:and|per|long|wide|tall|above|below|south|north|east|west|northeast|northwest|southeast|southwest|away|deep) /,
    qr/[\$£€](?=[\s,;.)])/,                                                  # $ in 2015
);
my ($n, $documents) = (0, 0);
open(my $f, "<:utf8", $file) or die "$file: $!";
while (<$f>) {
    s/^\{"text":"// and s/"\}\n$// or next;
    s/\\n/\n/g;
    s/\\"/"/g;
    my ($title) = /^([^\n]*)/;
    next unless $wanted{$title};
    $documents++;
    for my $sentence (split /(?<=[.!?])\s+(?=[A-Z])|\n+/) {
        my @found = grep { $sentence =~ $_ } @holes;
        next unless @found;
        $n++;
        print STDERR "$title: $sentence\n" if $show;
    }
}
print "$documents $n\n";
