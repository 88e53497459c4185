#!/bin/sh
# Counts the three words of a file.
printf 'one two three\n' > /tmp/words.$$
found=$(sh ./count.sh /tmp/words.$$)
rm -f /tmp/words.$$
[ "$found" -eq 3 ] || { echo "expected 3, found $found"; exit 1; }
echo ok
