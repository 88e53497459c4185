#!/bin/sh
# Runs test programs that are built already as an ordinary user, whose home and tree have mode 0700.
# Only root can; `cargo xtask test` does. A mount namespace shows that user a copy of the tree where
# the programs expect it, wherever it lies, and what was built, read-only.
#
#   tests/ordinary_user.sh ROOT [DIRECTORY PROGRAM]...
set -eu
user=4243

if [ "$1" != --inside ]; then
    root=$1
    home=$(mktemp -d /var/tmp/troupe-user.XXXXXX)
    # Out here nothing is mounted in it, so nothing but the copy is removed.
    trap 'rm -rf --one-file-system "$home"' EXIT
    mkdir "$home/tree" "$home/built"
    (cd "$root" && git ls-files -z --cached --others --exclude-standard |
        tar --null --files-from=- --ignore-failed-read -cf - 2>/dev/null) | tar -C "$home/tree" -xf -
    mkdir -p "$home/tree/target"
    chown -R "$user:$user" "$home"
    chmod 700 "$home" "$home/tree"
    shift
    unshare --mount "$0" --inside "$home" "$root" "$@"
    exit
fi

home=$2 root=$3
shift 3
mount --make-rprivate /
# The way to it will be covered.
mount --bind "$root/target" "$home/built"
mount -o remount,bind,ro "$home/built"
# The outermost directory on the way that is closed to others is replaced by one that is not.
way=$(dirname "$root") closed=
while [ "$way" != / ]; do
    case $(stat -c %A "$way") in
    *x | *t) ;;
    *) closed=$way ;;
    esac
    way=$(dirname "$way")
done
if [ -n "$closed" ]; then
    mount -t tmpfs -o mode=755 tmpfs "$closed"
    mkdir -p "$root"
fi
mount --bind "$home/tree" "$root"
mount --move "$home/built" "$root/target"
if [ -d "$root/target/tmp" ]; then
    mount -t tmpfs -o mode=1777 tmpfs "$root/target/tmp"
fi

status=0
while [ $# -gt 0 ]; do
    echo "as user $user: $2"
    (
        cd "$1"
        exec setpriv --reuid "$user" --regid "$user" --clear-groups env -i \
            PATH=/usr/local/bin:/usr/bin:/bin HOME="$home" CARGO_MANIFEST_DIR="$1" "$2" --quiet
    ) || status=1
    shift 2
done
exit $status
