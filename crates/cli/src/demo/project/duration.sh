#!/bin/sh
# Prints a number of seconds as h:mm:ss.

seconds=$1
hours=$((seconds / 3600))
minutes=$((seconds / 60))
rest=$((seconds % 60))

echo "$hours:$minutes:$rest"
