#!/bin/sh
# Checks both programs and keeps what it found.
cd "$(dirname "$0")/.." || exit 1
passed=0
check() {
    if [ "$1" = "$2" ]; then passed=$((passed + 1)); else echo "wanted $2, got $1"; fi
}
check "$(sh api/greet.sh Ada)" "Hello, Ada!"
check "$(sh api/greet.sh)" "Hello, world!"
check "$(sh api/shout.sh hey)" "HEY"
echo "$passed of 3 checks passed" | tee checks/result.txt
