#!/usr/bin/env bash
# One-node Slurm for tests: root, no systemd, no cgroups, no accounting. Idempotent.
#   start-slurm.sh [start]  install if missing, configure, start what is not up, wait until idle
#   start-slurm.sh clear    cancel all jobs, wait until they are gone
#   start-slurm.sh stop     clear, end the daemons whose pid files are ours
#   start-slurm.sh able     say why it cannot be done here, exit 1
set -euo pipefail
C=/etc/slurm/slurm.conf  # never overwrite the config of a real cluster
able() {
  if [ "$(id -u)" != 0 ]; then echo "not root"; return 1; fi
  if [ -s $C ] && ! grep -q '^ClusterName=thesiskit$' $C; then
    echo "$C is of another cluster"; return 1
  fi
  if ! have && ! command -v apt-get >/dev/null; then echo "no Slurm, and no apt-get"; return 1; fi
}
have() { { command -v slurmctld && command -v slurmd && command -v sbatch && command -v munged; } >/dev/null; }
if [ "${1:-start}" = able ]; then able; exit; fi
able >&2
S=${SLURM_TEST_DIR:-$(dirname "$(mktemp -u)")/thesiskit-slurm}; H=$(hostname -s)
CPUS=${SLURM_TEST_CPUS:-$(nproc)}; MEM=${SLURM_TEST_MEM:-4000}; ARRAY=${SLURM_TEST_ARRAY:-1001}
# not so a killed one that nobody waited for
alive() { [ -s "$S/$1.pid" ] && grep -qs '^State:.[^XZ]' "/proc/$(cat "$S/$1.pid")/status"; }
clear() {
  alive slurmctld || return 0
  scancel --user=root
  for _ in $(seq 20); do [ -z "$(squeue --noheader)" ] && break; sleep 0.5; done
}
if [ "${1:-start}" = clear ]; then clear; exit; fi
if [ "${1:-start}" = stop ]; then
  clear
  for d in slurmd slurmctld munged; do
    if alive $d; then kill "$(cat "$S/$d.pid")"; fi
    for _ in $(seq 40); do alive $d || break; sleep 0.25; done
  done
  exit 0
fi
if ! have; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends slurm-wlm munge >/dev/null
fi
mkdir -p "$S"/{state,spool,log} /etc/slurm /run/munge
chown root:root /run/munge; chmod 755 "$S" /run/munge
[ -s "$S/munge.key" ] || { head -c 1024 /dev/urandom >"$S/munge.key"; chmod 400 "$S/munge.key"; }
# cred_expire: Slurm holds a requeued job back for this long; the default is 120 s
cat >$C <<CONF
ClusterName=thesiskit
SlurmctldHost=$H(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=cred_expire=5
SlurmctldPidFile=$S/slurmctld.pid
SlurmdPidFile=$S/slurmd.pid
StateSaveLocation=$S/state
SlurmdSpoolDir=$S/spool
SlurmctldLogFile=$S/log/slurmctld.log
SlurmdLogFile=$S/log/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=10
DefMemPerCPU=500
MaxArraySize=$ARRAY
NodeName=$H NodeAddr=127.0.0.1 CPUs=$CPUS RealMemory=$MEM State=UNKNOWN
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
CONF
alive munged || munged --force --key-file="$S/munge.key" --pid-file="$S/munged.pid" \
  --log-file="$S/log/munged.log" --seed-file="$S/munged.seed"
alive slurmctld || slurmctld
alive slurmd || slurmd
for _ in $(seq 60); do
  if sinfo -h -o %T 2>/dev/null | grep -q '^drain'; then
    scontrol update nodename="$H" state=resume
  fi
  if sinfo -h -o %T 2>/dev/null | grep -qE '^(idle|mixed|allocated)$'; then sinfo; exit 0; fi
  sleep 0.5
done
sinfo >&2 || true; tail -n 20 "$S"/log/*.log >&2; echo "slurm did not come up" >&2; exit 1
