//! Files that virtual nodes share over the kernel's own NFS. Each node is a client of its own,
//! which keeps pages and sizes for a while, as machines of a cluster do.

use verbena_tests::softroce::Boot;
use verbena_tests::{Ended, program};

/// Serves a folder, which each node mounts by an address of its own: so the server has two clients.
const SERVED: &str = "\
modprobe -a nfsd nfs nfsv4 || exit
mkdir -p /run/served /run/shared /var/lib/nfs/v4recovery
mount -t tmpfs -o mode=1777 served /run/served && mount -t nfsd nfsd /proc/fs/nfsd || exit
echo '/run/served *(rw,fsid=0,no_root_squash,insecure,no_subtree_check)' >/etc/exports
exportfs -ra && rpc.mountd -N 2 -N 3 && rpc.nfsd -N 3 -V 4 -V 4.2 4 || exit
for node in node0 node1; do
    enter $node mount -t nfs4 -o vers=4.2,nosharecache $node:/ /run/shared || exit
done
grep -h ^name: /proc/fs/nfsd/clients/*/info | sort -u | wc -l";

const TWO: &str = "VERBENA_CHANNELS=loopback,rc mpiexec -hosts node0,node1 -n 2";
const FOUR: &str = "VERBENA_CHANNELS=loopback,shm,cma,rc mpiexec -hosts node0:2,node1:2 -n 4";

fn line(launch: &str, name: &str, words: &str) -> String {
    format!("FILE_MODEL_SYNC=1 {launch} {} /run/shared {words}", program(name).display())
}

fn says_ok(ended: Ended) {
    let said = ended.ok().stdout;
    assert!(said.contains(": ok with "), "{said}");
}

/// Random views put bytes of both nodes on one page. A client that writes whole pages would undo
/// what the other node wrote: most seeds show it if accesses go through the nodes' caches.
#[test]
fn nodes_that_share_a_folder_over_nfs_lose_no_byte() {
    Boot::new(&["--nodes", "2"])
        .check("a folder is served", 60, SERVED, |ended| assert_eq!(ended.ok().stdout.trim(), "2"))
        .check("random accesses, 2 ranks", 240, line(TWO, "file_model", "0 8"), says_ok)
        .check("random accesses, 4 ranks", 240, line(FOUR, "file_model", "100 4"), says_ok)
        .run();
}
