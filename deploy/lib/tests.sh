# shellcheck shell=bash
# Sourced by deploy/test: runs checks and Swift tests, prints a line for each, and counts what passed and failed.
passed=0
failed=0
log=$(mktemp)
work=$(mktemp -d)
clusters=()
remove_clusters() {
    local cluster
    for cluster in "${clusters[@]}"; do
        deploy/tools/postgres stop "$cluster" >/dev/null 2>&1 || true
        rm -rf --one-file-system "$cluster"
    done
    clusters=()
}
finish() {
    local job
    # By an interrupt `swift test` ends the tests' process, too.
    for job in $(jobs -p); do kill -INT "$job" 2>/dev/null || true; done
    wait
    remove_clusters
    rm -rf --one-file-system "$log" "$work"
}
trap finish EXIT

count() { # PASSED FAILED STARTED NAME: counts, and prints the line
    passed=$((passed + $1))
    failed=$((failed + $2))
    echo "$([ "$2" -eq 0 ] && echo "ok     " || echo "FAILED ") $4 ($((SECONDS - $3)) s)"
}

check() { # NAME COMMAND…: its output is shown if it fails
    local name=$1 start=$SECONDS
    shift
    if "$@" >"$log" 2>&1; then
        count 1 0 "$start" "$name"
    else
        count 0 1 "$start" "$name"
        tail -n 200 "$log"
    fi
}

swift_tests() { # OPTION…
    # A crash of the test process must end as a failure at once, not hang on a symboliser. Nothing is built, so the lock
    # of the build is not needed.
    SWIFT_BACKTRACE=enable=no exec timeout -s INT -k 60 2400 \
        swift test --ignore-lock --skip-build --no-parallel "$@"
}

with_cluster() { # CLUSTER OPTION…: the Swift tests on a cluster whose log holds each statement that our roles prepare
    local role
    GATEHOUSE_TEST_DATABASE=$(deploy/tools/postgres start "$1")
    shift
    export GATEHOUSE_TEST_DATABASE
    for role in gatehouse_app gatehouse_platform; do
        psql -X -q -d "$GATEHOUSE_TEST_DATABASE" -c "ALTER ROLE $role SET log_min_messages = debug2"
    done
    psql -X -q -d "$GATEHOUSE_TEST_DATABASE" -c "ALTER SYSTEM SET log_line_prefix = '%u|%d|'" -c 'SELECT pg_reload_conf()'
    swift_tests "$@"
}

report() { # NAME STARTED JOB: waits for the Swift tests that write $work/NAME.out, and counts them
    local name=$1 started=$2 code=0 out=$work/$1.out well wrong
    wait "$3" || code=$?
    grep -aE '^(✘|\S+ Test .* (failed|recorded an issue))' "$out" || true
    well=$(grep -aE '^\S+ Test .* passed after' "$out" | grep -avc ' Test run ' || true)
    wrong=$(grep -aE '^\S+ Test .* failed after' "$out" | grep -avc ' Test run ' || true)
    if [ "$wrong" -eq 0 ] && { [ "$code" -ne 0 ] || [ "$well" -eq 0 ]; }; then
        wrong=1
        tail -n 60 "$out"
    fi
    count "$well" "$wrong" "$started" "Swift tests, $name: $well passed, $wrong failed"
}
