#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first program in the machine. It runs twice: from the initramfs, where it loads modules and
# lays a writable layer over the host's files, and with the argument "run" as the first process of
# that tree, where it mounts what Linux programs expect and runs the command.
# run_in_vm.py puts beside it: busybox, modules/, module-order, shares, command, clock.
vm=/run/vm

# layer LOWER TARGET: TARGET becomes LOWER with a writable layer in memory.
layers=0
layer() {
  layers=$((layers + 1))
  mkdir -p "$1" "/layers/$layers/upper" "/layers/$layers/work" "$2"
  mount -t overlay -o "lowerdir=$1,upperdir=/layers/$layers/upper,workdir=/layers/$layers/work" \
    overlay "$2"
}

boot() {
  set -e
  export PATH=/bin
  /bin/busybox --install -s /bin
  mount -t devtmpfs dev /dev
  mount -t proc proc /proc
  while read -r module; do insmod "/modules/$module"; done </module-order
  date -s "@$(cat /clock)" >/dev/null
  mkdir -p /host /layers /new
  mount -t virtiofs -o ro host /host
  mount -t tmpfs -o mode=755 layers /layers
  layer /host /new
  mount -t tmpfs -o mode=1777 tmp /new/tmp
  mount -t tmpfs -o mode=755 run /new/run
  while read -r share; do layer "/host$share" "/new$share"; done </shares
  mkdir /new/run/vm
  cp /bin/busybox /init /command /new/run/vm/
  umount /proc
  mount --move /dev /new/dev
  exec switch_root /new "$vm/busybox" sh "$vm/init" run
}

# The device of the port that run_in_vm.py named so.
port() {
  name=$($box grep -lx "$1" /sys/class/virtio-ports/*/name)
  name=${name%/name}
  echo "/dev/${name##*/}"
}

run() {
  box=$vm/busybox
  $box mount -t proc proc /proc
  $box mount -t sysfs sys /sys
  $box mkdir -p /dev/pts /dev/shm
  $box mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts
  $box mount -t tmpfs -o mode=1777 shm /dev/shm
  $box ln -s /proc/self/fd /dev/fd
  $box mount -t cgroup2 -o nsdelegate cgroup2 /sys/fs/cgroup
  for controller in $($box cat /sys/fs/cgroup/cgroup.controllers); do
    echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control
  done
  $box ip link set lo up
  $box hostname vm
  cd /root
  export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  export HOME=/root USER=root LOGNAME=root LANG=C.UTF-8
  /bin/bash "$vm/command" </dev/null >"$(port output)" 2>&1
  echo "$?" >"$(port status)"
  $box reboot -f
}

if [ "$1" = run ]; then run; else boot; fi
