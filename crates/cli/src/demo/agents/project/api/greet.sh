#!/bin/sh
# greet NAME: prints a greeting.
printf 'Hello, %s!\n' "${1:-world}"
