#!/bin/sh
# Checks duration.sh. Exits with 1 if anything is wrong.

failed=0

check() {
    found=$(sh ./duration.sh "$1")
    if [ "$found" = "$2" ]; then
        echo "ok    $1 -> $2"
    else
        echo "FAIL  $1 -> $found, expected $2"
        failed=1
    fi
}

check 0 0:00:00
check 61 0:01:01
check 3600 1:00:00
check 3725 1:02:05
check 86399 23:59:59

exit $failed
