# One guest: each node is a set of namespaces (mounts, host name, System V memory, processes) with
# one verbs device, or with several in networks of their own (rails). The devices sit on veth pairs
# whose other ends share a bridge. rdma_rxe of Linux 6.1 does not work in network namespaces of its
# own, so the nodes share one network, and rules send packets between their addresses over the wire
# and not through lo.

# What ip is told, all at once: a process takes long to start in an emulated machine.
# cable NODE RAIL
cable() {
  local address=10.7.$2.$((1 + $1)) table=$((100 + 16 * $2 + $1)) each
  each=$(name "$1" "$2")
  local end=e$each
  echo "link add $end mtu $mtu type veth peer name p$each mtu $mtu"
  echo "link set p$each master br0 up"
  echo "addr add $address/32 dev $end"
  echo "link set $end up"
  echo "route add 10.7.$2.0/24 dev $end src $address table $table"
  # What arrives is ours; what leaves for another node takes the cable, for this one does not.
  echo "rule add pref 10 iif $end lookup local"
  echo "rule add pref 12 oif $end to $address lookup local"
  echo "rule add pref 13 from $address to $address lookup local"
  echo "rule add pref 20 oif $end lookup $table"
  echo "rule add pref 21 from $address lookup $table"
}

cables() {
  local node rail
  echo "link add br0 mtu $mtu type bridge"
  echo "link set br0 up"
  for ((node = 0; node < nodes; node++)); do
    for ((rail = 0; rail < rails; rail++)); do cable $node $rail; done
  done
  # The kernel's own first rule would find every local address before the wires are asked.
  echo "rule add pref 11 iif lo to 127.0.0.0/8 lookup local"
  echo "rule del pref 0"
  echo "rule add pref 300 lookup local"
}

# The namespaces live as long as their first process; `bin/enter` joins them by the number of its
# parent.
start_nodes() {
  local node
  for ((node = 0; node < nodes; node++)); do
    unshare --mount --uts --ipc --pid --fork --mount-proc bash "$guest/node.sh" $node "$rails" "$guest" &
    echo $! >"/run/softroce/node$node"
  done
  for ((node = 0; node < nodes; node++)); do
    while [ ! -e "/run/softroce/node$node.up" ]; do sleep 0.05; done
  done
}

load veth bridge
for kind in all default; do
  echo 1 >/proc/sys/net/ipv4/conf/$kind/accept_local
  echo 0 >/proc/sys/net/ipv4/conf/$kind/rp_filter
done
echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore
echo 2 >/proc/sys/net/ipv4/conf/all/arp_announce
cables | ip -batch - || fail "ip cannot make the wires"
for ((node = 0; node < nodes; node++)); do
  for ((rail = 0; rail < rails; rail++)); do
    each=$(name $node $rail)
    device "$each" "e$each"
    spoil "e$each"
  done
done
start_nodes
export VERBENA_LAUNCHER=remote
