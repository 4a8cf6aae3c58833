# The first process of a guest once it has its root: brings up the nodes, runs the command, reports
# its exit code, ends the guest. /softroce/job.sh, which the host wrote and which was read before
# this, sets: nodes, rails, shape, netem, stage, seconds_max, modules, guest, directory,
# ranks_per_node, command.
set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LANG=C.UTF-8
. "$guest/fabric.sh"

prepare() {
  ln -sfn "$modules" "/lib/modules/$(uname -r)"
  load virtio_console rdma_rxe ib_uverbs rdma_ucm sch_netem
  # The ports appear a moment after their driver.
  while ! [ -c /dev/vport0p1 -a -c /dev/vport0p2 ]; do sleep 0.02; done
  ulimit -l unlimited
  # A wire of InfiniBand loses nothing for want of room. With the kernel's 1000 packets a stream of
  # long messages loses acknowledgements.
  echo 100000 >/proc/sys/net/core/netdev_max_backlog
  ip link set lo up
  echo 1 | tee /proc/sys/net/ipv6/conf/{all,default}/disable_ipv6 >/dev/null
  for ((node = 0; node < nodes; node++)); do echo "10.7.0.$((1 + node)) node$node" >>/etc/hosts; done
}

# The streams go through pipes of their own: what runs may open /dev/stdout anew, which a port
# allows once.
run() {
  mkfifo /run/softroce/1 /run/softroce/2
  cat /run/softroce/1 >/dev/vport0p1 & local out=$!
  cat /run/softroce/2 >/dev/vport0p2 & local err=$!
  (cd "$directory" && exec limited "$seconds_max" "${command[@]}") </dev/null >/run/softroce/1 2>/run/softroce/2
  code=$?
  # A process left behind may hold the pipes for ever: what the command itself said is through by
  # then.
  (sleep 5; kill $out $err) 2>/dev/null &
  wait $out $err 2>/dev/null
}

hostname "$([ "$shape" = one ] && echo softroce || echo "node$SOFTROCE_NODE")"
prepare
PATH=$stage/bin:$guest/bin:$PATH
. "$guest/shape_$shape.sh"
run
echo $code >/softroce/exit.new && mv /softroce/exit.new /softroce/exit
sync
exec busybox poweroff -f
