#!/bin/sh
# slurm.conf: Prolog=/etc/slurm/amdkernel-prolog.sh. Where it fails, Slurm drains the node and holds the job, and the
# server of amdkernel-mcp releases the job for another node.
exec "$(dirname "$0")/amdkernel-gpu-health.sh"
