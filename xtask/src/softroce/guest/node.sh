# node.sh NODE: first process of a node of shape one. Its memory files and its verbs device are its own, and it reaps orphans.
node=$1
hostname "node$node"
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t tmpfs infiniband /dev/infiniband
# Tools look for devices here; the list of the kernel has those of all nodes.
own=$(readlink -f "/sys/class/infiniband/rxe$node")
mount -t tmpfs infiniband /sys/class/infiniband
ln -s "$own" /sys/class/infiniband/
for class in /sys/class/infiniband_verbs/uverbs*; do
  read -r device <"$class/ibdev"
  IFS=: read -r major minor <"$class/dev"
  [ "$device" != "rxe$node" ] || mknod -m 666 "/dev/infiniband/${class##*/}" c "$major" "$minor"
done
: >"/run/softroce/node$node.up"
# bash reaps whatever process became its child.
while :; do sleep 3600 & wait $!; done
