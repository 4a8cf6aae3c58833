# node.sh NODE: first process of a node of shape one. Its memory files and its verbs device are its own, and it reaps orphans.
node=$1
hostname "node$node"
mount -t tmpfs -o mode=1777 shm /dev/shm
class=$(dirname "$(grep -lx "rxe$node" /sys/class/infiniband_verbs/*/ibdev)")
mount -t tmpfs infiniband /dev/infiniband
IFS=: read -r major minor <"$class/dev"
mknod -m 666 "/dev/infiniband/${class##*/}" c "$major" "$minor"
: >"/run/softroce/node$node.up"
# bash reaps whatever process became its child.
while :; do sleep 3600 & wait $!; done
