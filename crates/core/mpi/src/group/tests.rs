//! Group algebra against plain lists.

use super::*;

fn group(members: &[Peer]) -> Group {
    Group::new(members.to_vec(), 3)
}

/// All ordered selections of distinct members out of 0..4, 65 of them.
fn selections() -> Vec<Vec<Peer>> {
    let mut all = vec![vec![]];
    let mut from = 0;
    for _ in 0..4 {
        let until = all.len();
        for at in from..until {
            for peer in (0..4).filter(|p| !all[at].contains(p)).collect::<Vec<_>>() {
                all.push([all[at].clone(), vec![peer]].concat());
            }
        }
        from = until;
    }
    all
}

#[test]
fn the_algebra_agrees_with_naive_lists() {
    let all = selections();
    assert_eq!(all.len(), 65);
    for a in &all {
        for b in &all {
            let (x, y) = (group(a), group(b));
            let only_b: Vec<Peer> = b.iter().copied().filter(|p| !a.contains(p)).collect();
            let both: Vec<Peer> = a.iter().copied().filter(|p| b.contains(p)).collect();
            let only_a: Vec<Peer> = a.iter().copied().filter(|p| !b.contains(p)).collect();
            assert_eq!(x.union(&y), group(&[a.clone(), only_b].concat()));
            assert_eq!(x.intersection(&y), group(&both));
            assert_eq!(x.difference(&y), group(&only_a));
            let (mut s, mut t) = (a.clone(), b.clone());
            s.sort();
            t.sort();
            let expected = match (a == b, s == t) {
                (true, _) => Likeness::Identical,
                (false, true) => Likeness::Similar,
                _ => Likeness::Unequal,
            };
            assert_eq!(x.compare(&y), expected);
        }
    }
}

#[test]
fn a_rank_is_known_only_to_members() {
    assert_eq!(group(&[5, 3]).rank(), Some(1));
    assert_eq!(group(&[5, 4]).rank(), None);
    assert_eq!(group(&[5, 4]).union(&group(&[3])).rank(), Some(2));
    assert_eq!(group(&[5, 3]).difference(&group(&[3])).rank(), None);
}

#[test]
fn ranks_translate_between_groups() {
    let (a, b) = (group(&[7, 8, 9]), group(&[9, 7]));
    let ranks = [0, 1, 2, mpi::MPI_PROC_NULL, 0];
    assert_eq!(a.translate(&ranks, &b).unwrap(), [1, mpi::MPI_UNDEFINED, 0, mpi::MPI_PROC_NULL, 1]);
    assert_eq!(a.translate(&[2], &b).unwrap(), [0]);
    assert_eq!(a.translate(&[3], &b).unwrap_err().class, mpi::MPI_ERR_RANK);
    assert_eq!(a.translate(&[-1, 0], &b).unwrap_err().class, mpi::MPI_ERR_RANK);
    assert!(a.translate(&[], &b).unwrap().is_empty());
}

#[test]
fn members_are_taken_and_left_out_by_rank() {
    let g = group(&[10, 11, 12, 13]);
    assert_eq!(g.incl(&[3, 0]).unwrap().members(), [13, 10]);
    assert_eq!(g.incl(&[]).unwrap(), Group::empty());
    assert_eq!(g.excl(&[3, 0]).unwrap().members(), [11, 12]);
    assert_eq!(g.excl(&[]).unwrap().members(), g.members());
    for ranks in [[0, 0], [0, 4], [-1, 0]] {
        assert_eq!(g.incl(&ranks).unwrap_err().class, mpi::MPI_ERR_RANK);
        assert_eq!(g.excl(&ranks).unwrap_err().class, mpi::MPI_ERR_RANK);
    }
}

fn range(first: i32, last: i32, stride: i32) -> Range {
    Range { first, last, stride }
}

#[test]
fn ranges_count_up_and_down() {
    let g = group(&[10, 11, 12, 13, 14, 15]);
    assert_eq!(g.range_incl(&[range(0, 5, 2)]).unwrap().members(), [10, 12, 14]);
    assert_eq!(g.range_incl(&[range(5, 1, -2), range(0, 0, 9)]).unwrap().members(), [15, 13, 11, 10]);
    assert!(g.range_incl(&[range(4, 1, 1)]).unwrap().members().is_empty());
    assert_eq!(g.range_excl(&[range(1, 4, 1)]).unwrap().members(), [10, 15]);
}

#[test]
fn bad_ranges_are_refused() {
    let g = group(&[10, 11, 12]);
    let class = |ranges: &[Range]| g.range_incl(ranges).unwrap_err().class;
    assert_eq!(class(&[range(0, 2, 0)]), mpi::MPI_ERR_ARG);
    assert_eq!(class(&[range(0, 3, 1)]), mpi::MPI_ERR_RANK);
    assert_eq!(class(&[range(0, i32::MAX, 1)]), mpi::MPI_ERR_RANK);
    assert_eq!(class(&[range(2, i32::MIN, -1)]), mpi::MPI_ERR_RANK);
    assert_eq!(class(&[range(-1, 2, 1)]), mpi::MPI_ERR_RANK);
    assert_eq!(class(&[range(0, 2, 1), range(1, 1, 1)]), mpi::MPI_ERR_RANK);
}

#[test]
fn groups_of_the_whole_job_share_one_list() {
    let [a, b] = [0, 2].map(|me| Group::of_job(me, 5));
    assert_eq!((a.members(), a.rank(), b.rank()), (&[0, 1, 2, 3, 4][..], Some(0), Some(2)));
    assert_eq!(a, Group::new((0..5).collect(), 0));
    assert_eq!(Group::of_job(5, 5).rank(), None);
    assert_eq!(a.members().as_ptr(), b.members().as_ptr());
    let other = Group::of_job(0, 3);
    assert_eq!((other.members(), a.members()), (&[0, 1, 2][..], &[0, 1, 2, 3, 4][..]));
}

#[test]
fn big_groups_take_linear_time() {
    let up = Group::new((0..200_000).collect(), 0);
    let down = Group::new((0..200_000).rev().collect(), 0);
    assert_eq!(up.compare(&down), Likeness::Similar);
    assert_eq!(up.difference(&down).size(), 0);
    let all: Vec<i32> = (0..200_000).collect();
    assert_eq!(up.translate(&all, &down).unwrap()[0], 199_999);
}
