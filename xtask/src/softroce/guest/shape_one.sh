# One guest: each node is a set of namespaces (mounts, host name, System V memory, processes) with one verbs device. The devices
# sit on veth pairs whose other ends share a bridge. rdma_rxe of Linux 6.1 does not work in network namespaces of its own, so
# the nodes share one network, and rules send packets between their addresses over the wire and not through lo.

cable() {
  local node=$1 address=10.7.0.$((1 + $1)) table=$((100 + $1)) end=e$1
  ip link add "$end" mtu $mtu type veth peer name "p$node" mtu $mtu
  ip link set "p$node" master br0 up
  ip addr add "$address/32" dev "$end"
  ip link set "$end" up
  ip route add 10.7.0.0/24 dev "$end" src "$address" table $table
  # What arrives is ours; what leaves for another node takes the cable, for this one does not.
  ip rule add pref 10 iif "$end" lookup local
  ip rule add pref 12 oif "$end" to "$address" lookup local
  ip rule add pref 13 from "$address" to "$address" lookup local
  ip rule add pref 20 oif "$end" lookup $table
  ip rule add pref 21 from "$address" lookup $table
}

cables() {
  local node
  load veth bridge
  sysctl -qw net.ipv4.conf.{all,default}.accept_local=1 net.ipv4.conf.{all,default}.rp_filter=0 \
    net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2
  ip link add br0 type bridge && ip link set br0 up mtu $mtu
  for ((node = 0; node < nodes; node++)); do cable $node; done
  # The kernel's own first rule would find every local address before the wires are asked.
  ip rule add pref 11 iif lo to 127.0.0.0/8 lookup local
  ip rule del pref 0 && ip rule add pref 300 lookup local
}

# The namespaces live as long as their first process; `bin/enter` joins them by the number of its parent.
start_node() {
  unshare --mount --uts --ipc --pid --fork --mount-proc bash "$guest/node.sh" "$1" &
  echo $! >"/run/softroce/node$1"
  while [ ! -e "/run/softroce/node$1.up" ]; do sleep 0.05; done
}

cables
for ((node = 0; node < nodes; node++)); do device $node e$node; spoil e$node; done
for ((node = 0; node < nodes; node++)); do start_node $node; done
export VERBENA_LAUNCHER=remote
