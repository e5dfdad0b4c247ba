#!/bin/sh
# Whether the GPUs of this job are free of other work: 0 yes, 1 no, with a sentence for slurmd's log. The prolog and the
# epilog of amdkernel-mcp call it. Slurm counts GPUs in the order of gres.conf, which must be that of the render nodes.
# A process that merely opened /dev/kfd, as monitors do, has 0 bytes and no queue, and does not count. What cannot be read
# counts as busy, but for memory that the driver does not list (partitions, virtual functions).
# Source: Linux, drivers/gpu/drm/amd: amdgpu_vram_mgr, amdkfd/kfd_process.
settings=$(dirname "$0")/amdkernel-health.conf # such as AMDKERNEL_IDLE_VRAM_MIB=2048
[ ! -r "$settings" ] || . "$settings"
sys=${AMDKERNEL_SYS:-/sys}
most_mib=${AMDKERNEL_IDLE_VRAM_MIB:-1024} # an idle MI300X lists some hundred MiB as used

say() { echo "amdkernel: $*" >&2; }

render_minors() { # of all GPUs, ascending
    cat "$sys"/class/kfd/kfd/topology/nodes/*/properties 2>/dev/null |
        awk '$1 == "drm_render_minor" && $2 > 0 { print $2 }' | sort -n
}

kfd_id() { # of the GPU with a render minor
    for node in "$sys"/class/kfd/kfd/topology/nodes/*; do
        grep -qs "^drm_render_minor $1\$" "$node/properties" && cat "$node/gpu_id" 2>/dev/null && return
    done
}

minors=$(render_minors)
for index in $(echo "${SLURM_JOB_GPUS:-}" | tr ',' ' '); do
    minor=$(echo "$minors" | sed -n "$((index + 1))p")
    [ -n "$minor" ] || { say "GPU $index is not among the driver's GPUs"; exit 1; }
    device=$sys/class/drm/renderD$minor/device
    used=0
    if [ -e "$device/mem_info_vram_used" ] || [ ! -d "$device" ]; then
        used=$(cat "$device/mem_info_vram_used" 2>/dev/null)
    fi
    id=$(kfd_id "$minor")
    case "$used:$id" in
    *[!0-9:]* | :* | *:) say "the driver's files of renderD$minor cannot be read"; exit 1 ;;
    esac
    [ -d "$sys/class/kfd/kfd/proc" ] || { say "the driver does not list its processes"; exit 1; }
    for file in "$sys"/class/kfd/kfd/proc/*/vram_"$id"; do
        [ -e "$file" ] || continue
        bytes=$(cat "$file" 2>/dev/null)
        if [ "$bytes" = 0 ] && ! cat "$(dirname "$file")"/queues/*/gpuid 2>/dev/null | grep -q "^$id\$"; then continue; fi
        process=$(basename "$(dirname "$file")")
        say "process $process uses renderD$minor"
        exit 1
    done
    [ "$((used / 1048576))" -le "$most_mib" ] || { say "$((used / 1048576)) MiB are in use on renderD$minor"; exit 1; }
done
exit 0
