# work.sh TURN MOUNT…: WRITERS processes, each ROUNDS times: overwrite one entry,
# add a line to a variable, an invocation, and an entry to a memory. Each call
# must succeed. TURN, from 0 on, makes what they write their own.
turn=$1
shift
mounts=("$@") pids=()
for w in $(seq $((turn * WRITERS + 1)) $(((turn + 1) * WRITERS))); do
  (
    set -e
    export CTXFS_AGENT=w$w
    m=${mounts[w % ${#mounts[@]}]}
    for n in $(seq $ROUNDS); do
      printf -- '---\ntype: finding\n---\nwriter %s round %s\nEND-OF-BODY\n' $w $n > draft$w
      cp draft$w $m/alice/20260221T143022-x.md
      echo $w-$n >> $m/vars/global/log
      echo "{\"tool_name\": \"t\", \"params\": {}, \"result\": \"$w-$n\"}" >> $m/invocations/context.jsonl
      echo "{\"text\": \"$w-$n\"}" >> $m/memories/m/entries.jsonl
    done
  ) &
  pids+=($!)
done
for pid in ${pids[@]}; do wait $pid; done
