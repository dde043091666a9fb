#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# A signal ends the loop, not the job.
cat > worker.sh <<'END'
#!/bin/bash
echo $$ > worker.pid
stop=
trap 'stop=1' TERM
trap 'rm -f worker.pid' EXIT
n=0
while [ -z "$stop" ]; do
  n=$((n + 1))
  echo "begin $n" >> log
  for _ in 1 2 3; do sleep 0.1 & while kill -0 $! 2> /dev/null; do wait $!; done; done
  echo "end $n" >> log
done
END
