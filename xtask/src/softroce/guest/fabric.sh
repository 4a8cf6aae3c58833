# What both shapes need to make wires and devices.

# A frame's payload in bytes: the least that gives a verbs device its largest MTU of 4096 (headers
# take 82).
mtu=4200

fail() {
  echo "softroce: $1" >/dev/vport0p2
  echo 125 >/softroce/exit
  sync
  exec busybox poweroff -f
}

load() { modprobe -a "$@" || fail "the guest cannot load the kernel modules $*"; }

# spoil INTERFACE: loses, delays and reorders what the interface sends, as the command line asks.
spoil() {
  # shellcheck disable=SC2086
  [ -z "$netem" ] || tc qdisc add dev "$1" root netem limit 10000 $netem || fail "tc netem refuses: $netem"
}

# name NODE RAIL: what the interface and the device of that rail are called, behind their first
# letters.
name() { if [ "$2" = 0 ]; then echo "$1"; else echo "$1_$2"; fi; }

# device NODE INTERFACE: a verbs device on the interface.
device() {
  rdma link add "rxe$1" type rxe netdev "$2" || fail "rdma link add rxe$1 failed on $2"
}
