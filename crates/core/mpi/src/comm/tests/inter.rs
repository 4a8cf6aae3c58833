//! Intercommunicators.

use super::fake::{Fake, meet};
use super::*;
use crate::comm::from_group::Other;

/// Connects the ranks below `border` on one side with the others; the leaders are the last of each
/// side.
fn bridge(world: &Comm, border: i32, fake: &Fake) -> Comm {
    let low = world.rank() < border;
    let part = world.split(low.into(), 0, fake).unwrap().unwrap();
    let remote_leader = if low { world.size() - 1 } else { border - 1 };
    part.intercomm_create(part.size() - 1, Some(world), remote_leader, 5, fake).unwrap()
}

fn sides(comm: &Comm) -> (Vec<Peer>, Vec<Peer>) {
    (comm.group().members().to_vec(), comm.remote_group().unwrap().members().to_vec())
}

#[test]
fn two_sides_see_each_other() {
    run(5, |world, fake| {
        let inter = bridge(world, 2, fake);
        let (low, high) = (vec![0, 1], vec![2, 3, 4]);
        assert_eq!(sides(&inter), if world.rank() < 2 { (low, high) } else { (high, low) });
        meet(&inter, fake);
        assert_eq!(world.remote_group().unwrap_err().class, mpi::MPI_ERR_COMM);
        assert_eq!(inter.check_intra().unwrap_err().class, mpi::MPI_ERR_COMM);
        assert_eq!(inter.compare(world), Likeness::Unequal);
    });
}

#[test]
fn duplicates_are_congruent_and_apart() {
    run(5, |world, fake| {
        let inter = bridge(world, 3, fake);
        let dup = inter.duplicate(None, fake).unwrap();
        assert_eq!(dup.compare(&inter), Likeness::Congruent);
        assert_eq!(sides(&dup), sides(&inter));
        meet(&inter, fake);
        meet(&dup, fake);
    });
}

#[test]
fn merging_puts_the_high_side_last() {
    let merged = |low_says: bool, high_says: bool| {
        run(5, |world, fake| {
            let inter = bridge(world, 2, fake);
            let high = if world.rank() < 2 { low_says } else { high_says };
            let intra = inter.merge(high, fake).unwrap();
            meet(&intra, fake);
            assert_eq!(intra.group().peer(intra.rank()), world.rank() as Peer);
            intra.group().members().to_vec()
        })
    };
    assert_eq!(merged(false, true), vec![vec![0, 1, 2, 3, 4]; 5]);
    assert_eq!(merged(true, false), vec![vec![2, 3, 4, 0, 1]; 5]);
    let either = merged(true, true);
    assert!(either.iter().all(|order| *order == either[0] && order.len() == 5));
}

#[test]
fn splitting_pairs_equal_colors() {
    let made = run(6, |world, fake| {
        let inter = bridge(world, 3, fake);
        let color = [0, 1, 0, 0, 2, mpi::MPI_UNDEFINED][world.rank() as usize];
        let part = inter.split(color, -world.rank(), fake).unwrap()?;
        meet(&part, fake);
        Some(sides(&part))
    });
    let (left, right) = (vec![2, 0], vec![3]);
    let there = Some((left.clone(), right.clone()));
    assert_eq!(made, [there.clone(), None, there, Some((right, left)), None, None]);
}

#[test]
fn groups_of_both_sides_make_a_smaller_bridge() {
    let made = run(5, |world, fake| {
        let inter = bridge(world, 2, fake);
        let ranks: &[i32] = if world.rank() < 2 { &[1] } else { &[2, 0] };
        let group = Arc::new(inter.group().incl(ranks).unwrap());
        let part = inter.create(&group, fake).unwrap()?;
        meet(&part, fake);
        Some(sides(&part))
    });
    let (left, right) = (vec![1], vec![4, 2]);
    let back = Some((right.clone(), left.clone()));
    assert_eq!(made, [None, Some((left, right)), back.clone(), None, back]);
}

#[test]
fn an_empty_side_makes_no_bridge() {
    let made = run(4, |world, fake| {
        let inter = bridge(world, 2, fake);
        let group = if world.rank() < 2 { Arc::new(Group::empty()) } else { inter.group().clone() };
        inter.create(&group, fake).unwrap().is_some()
    });
    assert_eq!(made, [false; 4]);
}

#[test]
fn overlapping_sides_are_refused_on_every_rank() {
    // The leader names itself as the other side's leader.
    let classes =
        run(3, |world, fake| world.intercomm_create(1, Some(world), 1, 0, fake).err().unwrap().class);
    assert_eq!(classes, [mpi::MPI_ERR_COMM; 3]);
}

#[test]
fn groups_make_bridges_without_a_parent() {
    run(5, |world, fake| {
        let universe = Comm::universe(world.rank() as Peer, 5);
        let (low, high) = ([0, 1], [4, 2, 3]);
        let (mine, theirs): (&[i32], &[i32]) = if world.rank() < 2 { (&low, &high) } else { (&high, &low) };
        let local = Arc::new(world.group().incl(mine).unwrap());
        let remote = world.group().incl(theirs).unwrap();
        let other = Some(Other { group: &remote, leader: 1 });
        let inter = universe.intercomm_from_groups(&local, 1, other, b"bridge", fake).unwrap();
        assert_eq!(inter.group().compare(&local), Likeness::Identical);
        assert_eq!(inter.remote_group().unwrap().members(), remote.members());
        meet(&inter, fake);
    });
}

#[test]
fn a_leader_without_a_peer_communicator_does_not_leave_its_side_waiting() {
    let classes = run(3, |world, fake| world.intercomm_create(1, None, 0, 0, fake).err().unwrap().class);
    assert_eq!(classes, [mpi::MPI_ERR_COMM; 3]);
}

#[test]
fn an_error_of_one_rank_fails_the_call_on_both_sides() {
    run(5, |world, fake| {
        let inter = bridge(world, 2, fake);
        let color = if world.rank() == 3 { -5 } else { 0 };
        assert_eq!(inter.split(color, 0, fake).err().unwrap().class, mpi::MPI_ERR_ARG);
        let ranks: &[i32] = if world.rank() == 1 { &[0] } else { &[0, 1] };
        let group = Arc::new(inter.group().incl(ranks).unwrap());
        assert_eq!(inter.create(&group, fake).err().unwrap().class, mpi::MPI_ERR_GROUP);
        meet(&inter, fake);
    });
}

#[test]
fn leaders_that_do_not_exist_are_refused() {
    run(4, |world, fake| {
        for leader in [4, -1, mpi::MPI_PROC_NULL] {
            let refused = world.intercomm_create(1, Some(world), leader, 0, fake).err().unwrap();
            assert_eq!(refused.class, mpi::MPI_ERR_RANK);
        }
        let universe = Comm::universe(world.rank() as Peer, 4);
        let half = world.rank() / 2 * 2;
        let mine = Arc::new(world.group().incl(&[half, half + 1]).unwrap());
        let theirs = world.group().difference(&mine);
        let made = |leader, other| {
            let other = Some(Other { group: &theirs, leader: other });
            universe.intercomm_from_groups(&mine, leader, other, b"tag", fake).err().map(|error| error.class)
        };
        assert_eq!((made(2, 0), made(-1, 0)), (Some(mpi::MPI_ERR_RANK), Some(mpi::MPI_ERR_RANK)));
        assert_eq!((made(0, 2), made(0, -1)), (Some(mpi::MPI_ERR_RANK), Some(mpi::MPI_ERR_RANK)));
        assert_eq!(made(0, 0), None);
    });
}
