#!/bin/sh
# Installs the packages of the lists in this folder into an image of Debian. Runs as root while the Dockerfile is built;
# HIP, SUITES, MIRROR and ALLOW_EXPIRED are its arguments.
set -eu
cd "$(dirname "$0")"
lines() {
    grep -hv -e '^#' -e '^$' "$@"
}
configured=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true)
mirror=${MIRROR:-$(printf '%s\n' "$configured" |
    sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] *\)*\([^ ]*\).*/\2/p' | head -n 1)}
[ -n "$mirror" ] || { echo "the image has no apt sources: give --build-arg MIRROR=URL" >&2; exit 1; }
rm -f /etc/apt/sources.list.d/* /etc/apt/sources.list
for key in /usr/share/keyrings/debian-archive-keyring.pgp /usr/share/keyrings/debian-archive-keyring.gpg; do
    [ -e "$key" ] && signed="[signed-by=$key]" && break
done
for suite in $SUITES; do
    echo "deb ${signed:-} $mirror $suite main" >>/etc/apt/sources.list
done
cp "hip-$HIP.pref" /etc/apt/preferences.d/amdkernel.pref
{
    lines leave-out.txt | sed 's/^/path-exclude=/'
    echo force-unsafe-io # a failed build is thrown away
} >/etc/dpkg/dpkg.cfg.d/amdkernel
apt() {
    DEBIAN_FRONTEND=noninteractive apt-get --quiet --yes --no-install-recommends -o Acquire::Languages=none \
        -o Acquire::Retries=3 ${ALLOW_EXPIRED:+-o Acquire::Check-Valid-Until=false} "$@"
}
apt update
for suite in $SUITES; do # /etc/amdkernel-suites: what doctor reports, a line for each suite with its date
    sed -n "s/^Date: */$suite /p" /var/lib/apt/lists/*_dists_"$suite"_*Release | head -n 1
done >/etc/amdkernel-suites
apt dist-upgrade # the image may be older than the mirror
# shellcheck disable=SC2046 # one word for each package
apt install $(lines packages.txt "hip-$HIP.txt")
apt-get clean
rm -rf /var/lib/apt/lists/* /var/log/* /var/cache/debconf/*-old /usr/share/doc /usr/share/man
