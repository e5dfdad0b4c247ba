#!/bin/sh
# slurm.conf: Epilog=/etc/slurm/amdkernel-epilog.sh. Removes the containers that the job left behind, then waits until
# its GPUs are free. Where it fails, Slurm drains the node.
settings=$(dirname "$0")/amdkernel-health.conf
[ ! -r "$settings" ] || . "$settings"
wait_s=${AMDKERNEL_RECOVERY_S:-30}
if [ -S /var/run/docker.sock ] && command -v docker >/dev/null; then
    docker ps --all --quiet --filter "label=amdkernel.slurm_job=$SLURM_JOB_ID" |
        while read -r container; do docker rm --force "$container" >/dev/null 2>&1; done
fi
while ! "$(dirname "$0")/amdkernel-gpu-health.sh"; do
    [ "$wait_s" -gt 0 ] || exit 1
    wait_s=$((wait_s - 1))
    sleep 1
done
exit 0
