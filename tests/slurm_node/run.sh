#!/usr/bin/env bash
# The tests that need a cluster, on a one-node Slurm that is started for them and stopped again.
#   run.sh PYTHON [options of pytest]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if ! why=$("$here/start-slurm.sh" able); then
  echo "cluster tests SKIPPED: $why"; exit 0
fi
exec 9>"$(dirname "$(mktemp -u)")/thesiskit-slurm.lock"
flock 9  # one at a time on a machine
export SLURM_TEST_CPUS=8 SLURM_TEST_ARRAY=16
trap '"$here/start-slurm.sh" stop' EXIT
"$here/start-slurm.sh" start 9>&-
"$here/start-slurm.sh" clear  # a run that was killed may have left jobs
"$@" 9>&-
