#!/bin/bash
# The first process of a node's namespaces: init.sh FOLDER CGROUP COMMAND...
# It prepares mounts that only this node sees, runs the command, and takes away what outlives namespaces. All processes
# of the node are in its process namespace: where this process ends, whatever ended it, the kernel ends them.
set -euo pipefail
# It ends all processes that it can see: those of the machine if this were not a process namespace of its own.
[[ $$ == 1 ]] || { echo "init.sh runs as the first process of a process namespace only" >&2; exit 2; }
folder=$1 cgroup=$2
shift 2

clean_up() {
  local status=$? mount left
  trap '' EXIT
  set +e
  kill -KILL -- -1
  # The kernel needs a moment to end them.
  for _ in {1..200}; do
    left=
    while read -r mount; do
      find "$mount/$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null
      [[ -e $mount/$cgroup ]] && left=yes
    done <"$folder/cgroup-mounts"
    [[ -z $left ]] && break
    sleep 0.05
  done
  while read -r _ _ _ _ mount _; do
    [[ $mount == "$folder"/* ]] && umount --lazy "$mount"
  done </proc/self/mountinfo
  rm -rf "$folder"
  exit "$status"
}
trap clean_up EXIT

echo node >/proc/sys/kernel/hostname
ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward
# Without it the reply of a Pod to a Pod on the same bridge passes by the translation of Service addresses.
[[ -e /proc/sys/net/bridge/bridge-nf-call-iptables ]] || modprobe br_netfilter
echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables
# Only the API server, which is in this namespace, speaks to the kubelet: it would let everybody into every Pod.
iptables -w -A INPUT ! -i lo -p tcp --dport 10250 -j DROP

mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/lock
mount -t tmpfs -o mode=755 tmpfs /var/log
# The kubelet and CNI have folders in /var/lib that no setting moves; nothing is made on the machine itself.
mkdir -p /run/var-lib/{changes,work}
mount -t overlay -o "lowerdir=/var/lib,upperdir=/run/var-lib/changes,workdir=/run/var-lib/work" overlay /var/lib
# Mounts for a Pod are made here and seen by containerd.
mount --make-rshared /

"$@"
