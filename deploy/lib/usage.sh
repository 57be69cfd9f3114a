# shellcheck shell=bash
# Sourced by a script before it does anything: answers -h and --help with the comment at the script's top.
case ${1-} in
-h | --help)
    awk 'NR > 1 && !/^#/ { exit } NR > 1 && !/^# shellcheck / { sub(/^# ?/, ""); print }' "$0"
    exit
    ;;
esac
