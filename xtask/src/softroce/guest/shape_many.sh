# Several guests, each a node of its own. The wires are a star: guest 0 has one to each other guest,
# and a bridge.

node=$SOFTROCE_NODE
address() { echo "52:54:00:00:00:$(printf %02x $((16 + $1)))"; }

# On guest 0 the node's own interface e0 is the end of a cable to the bridge.
join_star() {
  load veth bridge
  ip link add br0 mtu $mtu type bridge
  ip link add e0 mtu $mtu type veth peer name p0 mtu $mtu
  for port in p0 /sys/class/net/eth*; do ip link set "${port##*/}" mtu $mtu master br0 up; done
  ip link set br0 up
}

connect() {
  local i
  load virtio_net
  while [ ! -e /sys/class/net/eth0 ]; do sleep 0.02; done
  if [ $nodes -gt 2 ] && [ "$node" = 0 ]; then join_star; else ip link set eth0 name "e$node" mtu $mtu; fi
  ip link set "e$node" address "$(address "$node")"
  ip addr add "10.7.0.$((1 + node))/24" dev "e$node"
  ip link set "e$node" up
  for ((i = 0; i < nodes; i++)); do
    [ $i = "$node" ] || ip neigh replace "10.7.0.$((1 + i))" lladdr "$(address $i)" dev "e$node" nud permanent
  done
}

# The key is this run's own: it opens its guests, and they know each other by it. The default key
# exchange is slow when emulated.
serve_logins() {
  mkdir -p /run/sshd /etc/ssh/ssh_config.d
  echo 'root:*:19000:0:99999:7:::' >/etc/shadow
  # Not the user's own shell: it would read their start-up files, which may take long.
  sed -i '1s|:[^:]*$|:/bin/sh|' /etc/passwd
  printf '%s\n' 'HostKey /softroce/key' 'AuthorizedKeysFile /softroce/key.pub' 'PermitRootLogin yes' 'StrictModes no' \
    'UsePAM no' 'UseDNS no' 'KexAlgorithms curve25519-sha256' 'MaxStartups 100' "SetEnv PATH=$PATH" >/run/sshd_config
  printf '%s\n' 'Host node*' ' IdentityFile /softroce/key' ' StrictHostKeyChecking no' ' UserKnownHostsFile /dev/null' \
    ' KexAlgorithms curve25519-sha256' ' LogLevel ERROR' >/etc/ssh/ssh_config.d/softroce.conf
  /usr/sbin/sshd -f /run/sshd_config || fail "sshd does not start"
}

meet() {
  local i
  : >"/softroce/up.$node"
  for ((i = 0; i < nodes; i++)); do while [ ! -e "/softroce/up.$i" ]; do sleep 0.05; done; done
}

# They boot at different speeds.
connect
device "$node" "e$node"
spoil "e$node"
serve_logins
meet
# The host ends the others when guest 0 has ended.
while [ "$node" != 0 ]; do sleep 3600 & wait $!; done
