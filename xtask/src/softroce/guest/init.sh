#!/bin/busybox sh
# The initramfs: loads the few modules that reach the host's files, and makes a throw-away copy of
# them the root.
busybox=/bin/busybox
mount="$busybox mount"
over=trans=virtio,version=9p2000.L,msize=512000
give_up() { echo "softroce: cannot $1"; $busybox poweroff -f; }
$mount -t proc proc /proc && $mount -t sysfs sys /sys && $mount -t devtmpfs dev /dev || give_up "mount /proc, /sys and /dev"
for module in $($busybox cat /modules/order); do
  $busybox insmod "/modules/$module" || give_up "load $module"
done
$mount -t 9p -o "ro,cache=loose,$over" root /host || give_up "mount the host's files"
$mount -t tmpfs -o size=90% tmpfs /changes && $busybox mkdir /changes/upper /changes/work
$mount -t overlay -o lowerdir=/host,upperdir=/changes/upper,workdir=/changes/work overlay /new || give_up "mount the root"
$busybox mkdir -p /new/out /new/softroce
$mount -t 9p -o "rw,cache=none,$over" out /new/out || give_up "mount /out"
$mount -t 9p -o "rw,cache=none,$over" control /new/softroce || give_up "mount /softroce"
for each in proc sys dev; do $mount --move /$each /new/$each; done
$busybox mkdir -p /new/dev/shm /new/dev/pts
$mount -t tmpfs -o mode=1777 shm /new/dev/shm && $mount -t devpts pts /new/dev/pts && $mount -t tmpfs run /new/run
$busybox ln -s /proc/self/fd /new/dev/fd
for each in 0:in 1:out 2:err; do $busybox ln -s fd/${each%:*} /new/dev/std${each#*:}; done
$busybox mkdir -p /new/run/softroce /new/lib/modules
exec $busybox switch_root /new /bin/bash -c '. /softroce/job.sh && . "$guest/start.sh"'
