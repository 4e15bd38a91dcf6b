# check.sh TURNS MOUNT…: each mount shows all that was written in so many turns,
# and each of it once.
count=$(($1 * WRITERS))
shift
total=$((count * ROUNDS))
e=alice/20260221T143022-x.md
for w in $(seq $count); do for n in $(seq $ROUNDS); do echo $w-$n; done; done | sort > want
for w in $(seq $count); do echo "$ROUNDS w$w"; done | sort > agents
for m in "$@"; do
  until test $(wc -l < $m/vars/global/log) -ge $total && test $(grep -c '^- 20' $m/$e) -ge $total &&
    test $(wc -l < $m/invocations/context.jsonl) -ge $total && test $(wc -l < $m/memories/m/entries.jsonl) -ge $total; do sleep 0.05; done
  sort $m/vars/global/log | diff want -
  sed -n 's/.*"result": *"\([^"]*\)".*/\1/p' $m/invocations/context.jsonl | sort | diff want -
  sed -n 's/.*"text": *"\([^"]*\)".*/\1/p' $m/memories/m/entries.jsonl | sort | diff want -
  sed -n 's/^- [^[]*\[\(w[0-9]*\)\]: .*/\1/p' $m/$e | sort | uniq -c | sed 's/^ *//' | sort | diff agents -
  # Every save, and the first content, is a version or current, once.
  for n in $(seq $total); do grep -h '^writer' $m/.ctxfs/versions/$e/$n; done | cat - <(grep -h '^writer' $m/$e) | sort | uniq -d | diff /dev/null -
  test $(ls $m/.ctxfs/versions/$e | wc -l) = $total
  diff <(cat $1/$e) $m/$e
done
