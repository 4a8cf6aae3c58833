//! Nodes without RDMA on this machine, between which messages go through the kernel's TCP: hosts of
//! other names, and two networks joined by a virtual cable.

use std::process::Command;

/// A launcher for hosts that are this machine under other names, so that each counts as a node and
/// all share its network.
pub const NAMED: &str = "sh -c 'exec unshare --uts sh -c \"hostname node$$; exec $*\"'";

/// Returns whether libfabric is installed, without which there is no channel between such nodes.
pub fn has_libfabric() -> bool {
    let there = Command::new("ldconfig").arg("-p").output();
    there.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("libfabric.so.1"))
}

/// Two network namespaces with a virtual cable between them. They go with this.
pub struct Cable(u32);

/// The names of the hosts at the ends, as the launcher knows them.
pub const ENDS: [&str; 2] = ["a", "b"];

impl Cable {
    /// Lays the cable. Both ends also have the same other address, as bridges of containers do,
    /// which leads nowhere.
    ///
    /// # Errors
    /// What `ip` says where this process may not make any.
    pub fn lay() -> Result<Cable, String> {
        let cable = Cable(std::process::id());
        let id = cable.0;
        let script = format!(
            "set -e; ip netns add vb{id}-a; ip netns add vb{id}-b
             ip link add vb{id} netns vb{id}-a type veth peer name vb{id} netns vb{id}-b
             for end in a:1 b:2; do
               ip -n vb{id}-${{end%:*}} addr add 10.77.0.${{end#*:}}/24 dev vb{id}
               ip -n vb{id}-${{end%:*}} addr add 172.17.0.1/16 dev lo
               ip -n vb{id}-${{end%:*}} link set lo up; ip -n vb{id}-${{end%:*}} link set vb{id} up
             done
             # The kernel may take a second to say that a link which came up is in use.
             for end in a b; do
               for turn in $(seq 100); do
                 ip -n vb{id}-$end link show vb{id} | grep -q 'state UP' && break; sleep 0.1
               done
             done"
        );
        let made = Command::new("sh").args(["-c", &script]).output();
        match made {
            Ok(made) if made.status.success() => Ok(cable),
            Ok(made) => Err(String::from_utf8_lossy(&made.stderr).trim().to_string()),
            Err(error) => Err(format!("sh: {error}")),
        }
    }

    /// Cuts all connections over the cable, by the kernel, and returns how many there were. The
    /// ends may make others.
    ///
    /// # Panics
    /// If `ss` cannot be run.
    pub fn cut(&self) -> usize {
        let end = format!("vb{}-a", self.0);
        let cut = Command::new("ip")
            .args(["netns", "exec", &end, "ss", "--no-header", "-tnK", "dst", "10.77.0.2"])
            .output()
            .expect("ip runs");
        String::from_utf8_lossy(&cut.stdout).lines().count()
    }

    /// A launcher, as `mpiexec --launcher` takes it, for the hosts at its ends.
    pub fn launcher(&self) -> String {
        format!("sh -c 'exec ip netns exec vb{}-$0 \"$@\"'", self.0)
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for end in ENDS {
            // A thing that was not made cannot be deleted.
            let _ = Command::new("ip").args(["netns", "delete", &format!("vb{}-{end}", self.0)]).output();
        }
    }
}
