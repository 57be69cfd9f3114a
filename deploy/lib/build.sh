# shellcheck shell=bash
# Sourced by what builds: `build OPTION…` is `swift build OPTION…`. It prints what it compiles every five seconds, and if it
# fails the first error with all that the compiler says of it.
build_progress() {
    local line start=$SECONDS last=-5 seconds
    while IFS= read -r line; do
        seconds=$((SECONDS - start))
        if [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ (.*) ]] && [ $((seconds - last)) -ge 5 ]; then
            last=$seconds
            echo "  ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} steps, $seconds s: ${BASH_REMATCH[3]}"
        fi
    done
}

build_error() { # LOG
    awk '/(^|: )error: / && !found { found = 1; print; next }
        found && (/^\[[0-9]+\/[0-9]+\]/ || /: (error|warning): /) { exit }
        found && ++lines < 40' "$1"
}

build() (
    set -o pipefail
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    swift build "$@" 2>&1 | tee "$log" | build_progress && exit
    echo "The build failed. Its first error:" >&2
    build_error "$log" | grep . >&2 || tail -n 20 "$log" >&2
    exit 1
)
