#!/bin/sh
# count FILE: how many words are in it
wc -l < "$1"
