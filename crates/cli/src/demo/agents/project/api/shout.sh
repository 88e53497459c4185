#!/bin/sh
# shout TEXT: prints the text in capitals.
printf '%s\n' "$1" | tr '[:lower:]' '[:upper:]'
