# Runs in a guest: takes jobs from standard input, each as NUL-terminated words: how many arguments, the files for standard output and
# standard error, the arguments. Answers `ready` once, and `ended STATUS` after each. No arguments: the end.
exec 3<&0 4>&1 </dev/null >/dev/null
echo ready >&4
while IFS= read -r -d '' -u 3 count && [ "$count" != 0 ]; do
    words=()
    for ((index = 0; index < count + 2; index++)); do
        IFS= read -r -d '' -u 3 word || exit
        words+=("$word")
    done
    status=0
    "${words[@]:2}" >"${words[0]}" 2>"${words[1]}" 3<&- 4>&- || status=$?
    # What it wrote is read on the machine from now on.
    sync
    echo "ended $status" >&4
done
