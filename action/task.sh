#!/usr/bin/env bash
# The task of the action. Prompt and settings are in the environment; the last message goes to
# the step's outputs and to its summary, and the exit code is that of `troupe exec`.
set -euo pipefail

result="$RUNNER_TEMP/troupe-result.md"
rm -f "$result"
options=(--sandbox "$TROUPE_SANDBOX" --output-last-message "$result")
if [ -n "$TROUPE_MODEL" ]; then
    options+=(--model "$TROUPE_MODEL")
fi

code=0
printf '%s' "$TROUPE_PROMPT" | troupe exec "${options[@]}" - || code=$?

if [ -f "$result" ]; then
    # What ends the value cannot be guessed by whoever wrote the message.
    end="end-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
    {
        echo "result<<$end"
        cat "$result"
        echo
        echo "$end"
    } >>"$GITHUB_OUTPUT"
    cat "$result" >>"$GITHUB_STEP_SUMMARY"
fi
exit "$code"
