# node.sh NODE RAILS FOLDER: first process of a node of shape one. Its memory files and its verbs
# devices are its own, and it reaps orphans.
node=$1 rails=$2 guest=$3
. "$guest/fabric.sh"
hostname "node$node"
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t tmpfs infiniband /dev/infiniband
# Tools look for devices here; the list of the kernel has those of all nodes.
own=$(for ((rail = 0; rail < rails; rail++)); do readlink -f "/sys/class/infiniband/rxe$(name "$node" $rail)"; done)
mount -t tmpfs infiniband /sys/class/infiniband
# shellcheck disable=SC2086
ln -s $own /sys/class/infiniband/
for class in /sys/class/infiniband_verbs/uverbs*; do
  read -r device <"$class/ibdev"
  IFS=: read -r major minor <"$class/dev"
  for ((rail = 0; rail < rails; rail++)); do
    [ "$device" != "rxe$(name "$node" $rail)" ] || mknod -m 666 "/dev/infiniband/${class##*/}" c "$major" "$minor"
  done
done
: >"/run/softroce/node$node.up"
# bash reaps whatever process became its child.
while :; do sleep 3600 & wait $!; done
