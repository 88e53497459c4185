#!/bin/sh
# Installs the clients and servers of other people that our tests run against, pinned, below
# this folder: node_modules/ (npm) and .venv/ (PyPI); and tmux, the terminal of our tests, from
# the system's packages if root runs this. Does nothing when they are there.
#
#   setup.sh            all of it
#   setup.sh node       only what needs Node
#   setup.sh python     only what needs Python
#   setup.sh terminal   only tmux
set -eu
cd "$(dirname "$0")"

# Test binaries may ask for this at the same time.
if command -v flock >/dev/null; then
    exec 9>.setup.lock
    flock 9
fi

fail() {
    echo "tests/external/setup.sh: $1" >&2
    exit 1
}

# quietly NAME COMMAND…: shows the output only if the command fails.
quietly() {
    name=$1
    shift
    log=$(mktemp)
    if "$@" >"$log" 2>&1; then
        rm -f "$log"
    else
        cat "$log" >&2
        rm -f "$log"
        fail "$name failed (see above)"
    fi
}

# A folder is complete when it holds a copy of the file it was installed from.
complete() { cmp -s "$1" "$2/.installed-from"; }

setup_node() {
    complete package-lock.json node_modules && return
    command -v node >/dev/null || fail "Node is missing: install Node 18 or newer"
    command -v npm >/dev/null || fail "npm is missing: install it with Node"
    node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' ||
        fail "Node $(node --version) is too old: install Node 18 or newer"
    quietly "npm ci" npm ci --no-progress
    cp package-lock.json node_modules/.installed-from
}

setup_python() {
    complete requirements.txt .venv && return
    command -v python3 >/dev/null || fail "Python is missing: install Python 3.10 or newer"
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        fail "$(python3 --version) is too old: install Python 3.10 or newer"
    python3 -c 'import venv, ensurepip' 2>/dev/null ||
        fail "Python cannot make virtual environments: install its venv module (Debian: python3-venv)"
    quietly "python3 -m venv" python3 -m venv --clear .venv
    quietly "pip install" .venv/bin/python -m pip install --disable-pip-version-check \
        --no-deps --only-binary :all: --require-hashes --requirement requirements.txt
    cp requirements.txt .venv/.installed-from
}

setup_terminal() {
    command -v tmux >/dev/null && return
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null ||
        fail "tmux is missing: install it (Debian: apt-get install tmux)"
    quietly "apt-get update" apt-get update
    quietly "apt-get install tmux" apt-get install --yes --no-install-recommends tmux
}

case ${1:-all} in
node) setup_node ;;
python) setup_python ;;
terminal) setup_terminal ;;
all)
    setup_terminal
    setup_node
    setup_python
    ;;
*) fail "unknown part: $1 (node, python, terminal or nothing)" ;;
esac
