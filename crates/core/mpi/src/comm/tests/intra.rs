//! Intracommunicators.

use super::fake::{Fake, meet};
use super::*;
use crate::attribute::{COMM_KEYVALS, CopyRule, callback_failed};
use crate::errhandler::{Action, Kind};

#[test]
fn a_duplicate_is_congruent_and_apart() {
    run(4, |world, fake| {
        let dup = world.duplicate(None, fake).unwrap();
        let again = dup.duplicate(None, fake).unwrap();
        assert_eq!(world.compare(&dup), Likeness::Congruent);
        assert_eq!(again.compare(&dup), Likeness::Congruent);
        assert_eq!(dup.compare(&dup), Likeness::Identical);
        for comm in [world, &dup, &again] {
            meet(comm, fake);
        }
    });
}

#[test]
fn duplicates_take_attributes_and_handlers_but_not_names_and_hints() {
    let (info, key) = (Info::new(), COMM_KEYVALS.create(CopyRule::Same, None));
    info.set(b"mpi_assert_no_any_tag", b"true").unwrap();
    run(2, |world, fake| {
        world.set_name(b"world");
        world.hints().set(b"a", b"b").unwrap();
        world.set_errhandler(predefined::returning()).unwrap();
        world.attributes().set(0, COMM_KEYVALS.get(key).unwrap(), 42).unwrap();
        let dup = world.duplicate(Some(&info), fake).unwrap();
        assert_eq!((dup.name(), dup.hints().entries()), (vec![], info.entries()));
        assert!(world.duplicate(None, fake).unwrap().hints().is_empty());
        assert!(Arc::ptr_eq(&dup.errhandler(), &predefined::returning()));
        assert_eq!(dup.attributes().get(key), Some(42));
        let part = world.split(0, 0, fake).unwrap().unwrap();
        assert_eq!(part.attributes().get(key), None);
        assert!(Arc::ptr_eq(&part.errhandler(), &predefined::returning()));
    });
}

#[test]
fn a_copy_callback_that_fails_on_one_rank_leaves_nobody_waiting() {
    let fails = CopyRule::Call(Box::new(|_, key, _| Err(callback_failed(mpi::MPI_ERR_OTHER, "copy", key))));
    let key = COMM_KEYVALS.create(fails, None);
    let classes = run(3, |world, fake| {
        if world.rank() == 0 {
            world.attributes().set(0, COMM_KEYVALS.get(key).unwrap(), 1).unwrap();
        }
        world.duplicate(None, fake).err().map(|error| error.class)
    });
    assert_eq!(classes, [Some(mpi::MPI_ERR_OTHER), None, None]);
}

#[test]
fn a_duplicate_in_steps_is_the_same() {
    run(3, |world, fake| {
        let dup = world.dup_begin(None).unwrap();
        let offer = world.offer(&|| fake.new_context());
        let agreed = world.agreed(&offer, &offer).unwrap();
        dup.settle(&fake.bcast(world, 0, agreed).unwrap()).unwrap();
        assert_eq!(world.compare(&dup), Likeness::Congruent);
        meet(&dup, fake);
    });
}

/// Splits by every rank's (color, key) and returns each new communicator's members.
fn split(arguments: &[(i32, i32)]) -> Vec<Option<Vec<Peer>>> {
    run(arguments.len() as u32, |world, fake: &Fake| {
        let (color, key) = arguments[world.rank() as usize];
        let part = world.split(color, key, fake).unwrap()?;
        meet(&part, fake);
        assert_eq!(part.group().peer(part.rank()), world.rank() as Peer);
        Some(part.group().members().to_vec())
    })
}

#[test]
fn splitting_orders_by_key_and_then_by_rank() {
    let together = split(&[(7, 5), (7, -1), (7, 5), (7, i32::MIN), (7, i32::MAX)]);
    assert_eq!(together, vec![Some(vec![3, 1, 0, 2, 4]); 5]);
    let apart = split(&[(0, 0), (1, 0), (0, -1), (mpi::MPI_UNDEFINED, 0), (1, 0)]);
    assert_eq!(apart, [Some(vec![2, 0]), Some(vec![1, 4]), Some(vec![2, 0]), None, Some(vec![1, 4])]);
}

#[test]
fn every_small_split_agrees_with_a_plain_sort() {
    for colors in 0..27 {
        for keys in 0..27 {
            let digit = |number: i32, place: u32| number / 3_i32.pow(place) % 3;
            let arguments: Vec<(i32, i32)> =
                (0..3).map(|rank| (digit(colors, rank), digit(keys, rank))).collect();
            let made = split(&arguments);
            for rank in 0..3 {
                let mut mates: Vec<usize> = (0..3).filter(|&r| arguments[r].0 == arguments[rank].0).collect();
                mates.sort_by_key(|&r| (arguments[r].1, r));
                let mates: Vec<Peer> = mates.into_iter().map(|r| r as Peer).collect();
                assert_eq!(made[rank].as_ref(), Some(&mates));
            }
        }
    }
}

#[test]
fn a_negative_color_is_refused() {
    let classes = run(1, |world, fake| world.split(-1, 0, fake).err().unwrap().class);
    assert_eq!(classes, [mpi::MPI_ERR_ARG]);
}

#[test]
fn groups_of_a_communicator_become_communicators_at_once() {
    run(6, |world, fake| {
        let mine: Vec<i32> = if world.rank() < 4 { vec![3, 0, 1] } else { vec![5, 4] };
        let group = Arc::new(world.group().incl(&mine).unwrap());
        let new = world.create(&group, fake).unwrap();
        assert_eq!(new.is_some(), world.rank() != 2);
        if let Some(new) = new {
            assert_eq!(new.group(), &group);
            meet(&new, fake);
        }
    });
}

#[test]
fn creating_by_group_needs_its_members_only() {
    run(5, |world, fake| {
        let odd = Arc::new(world.group().incl(&[3, 1]).unwrap());
        if world.rank() % 2 == 1 {
            let new = world.create_group(&odd, 3, fake).unwrap().unwrap();
            assert_eq!(new.group().members(), [3, 1]);
            meet(&new, fake);
        }
        let empty = Arc::new(Group::empty());
        assert!(world.create_group(&empty, 0, fake).unwrap().is_none());
    });
}

#[test]
fn a_group_from_elsewhere_is_refused() {
    run(2, |world, fake| {
        let part = world.split(world.rank(), 0, fake).unwrap().unwrap();
        for answer in [part.create(world.group(), fake), part.create_group(world.group(), 0, fake)] {
            assert_eq!(answer.err().unwrap().class, mpi::MPI_ERR_GROUP);
        }
    });
}

#[test]
fn sessions_make_communicators_without_a_parent() {
    run(4, |world, fake| {
        let universe = Comm::universe(world.rank() as Peer, 4);
        let all = universe.create_from_group(world.group(), b"all", fake).unwrap();
        meet(&all, fake);
        let half = Arc::new(world.group().incl(&[world.rank() / 2 * 2, world.rank() / 2 * 2 + 1]).unwrap());
        let half = universe.create_from_group(&half, b"half", fake).unwrap();
        meet(&half, fake);
        let other = Arc::new(world.group().difference(half.group()));
        let refused = universe.create_from_group(&other, b"x", fake).err().unwrap();
        assert_eq!(refused.class, mpi::MPI_ERR_GROUP);
    });
}

/// Two tags may have one number, by which the members' words find each other.
#[test]
fn tags_that_are_mixed_up_are_told_to_all_members() {
    let tags = ["solver-16066", "solver-69349"];
    let members: Vec<i32> = (0..2).collect();
    let number = |tag: &str| words::tag_number(tag.as_bytes(), &members);
    assert_eq!(number(tags[0]), number(tags[1]));
    run(2, |world, fake| {
        let universe = Comm::universe(world.rank() as Peer, 2);
        let tag = tags[world.rank() as usize].as_bytes();
        let refused = universe.create_from_group(world.group(), tag, fake).err().expect("another tag");
        assert_eq!(refused.class, mpi::MPI_ERR_ARG);
    });
}

/// A place where all share memory.
fn place(hardware: &Places) -> Place<'_> {
    Place { hardware, memory: 0 }
}

#[test]
fn splitting_by_type_goes_by_node() {
    run(4, |world, fake| {
        let places: Places = std::array::from_fn(|i| (i == 0).then_some(1000 + world.rank() as u64 % 2));
        // The last two share no memory, though one machine.
        let memory = world.rank().min(2) as u64 % 2 + 7 * (world.rank() as u64 / 3);
        let place = Place { hardware: &places, memory };
        let split = |comm: &Comm, wanted| comm.split_type(Ok(wanted), 0, place, fake).unwrap();
        let (shared, _) = split(world, SplitType::Shared).unwrap();
        let sharing = [&[0, 2][..], &[1], &[0, 2], &[3]][world.rank() as usize];
        assert_eq!(shared.group().members(), sharing);
        let (lower, sort) = split(world, SplitType::NextLevel).unwrap();
        assert_eq!((lower.size(), sort), (2, Some("hwloc://Machine")));
        assert!(split(&lower, SplitType::NextLevel).is_none());
        let size = |wanted| split(world, wanted).map(|(comm, _)| comm.size());
        let hardware = |name: &[u8]| size(SplitType::Hardware(Some(name.to_vec())));
        assert_eq!(hardware(b"mpi_shared_memory"), Some(sharing.len() as i32));
        assert_eq!(
            (hardware(b"hwloc://Machine"), hardware(b"hwloc://Core"), hardware(b"teapot")),
            (Some(2), None, None)
        );
        assert_eq!(size(SplitType::Hardware(None)), None);
        assert_eq!(size(SplitType::ProcessSet(b"mpi://SELF".to_vec())), Some(1));
        assert_eq!(size(SplitType::ProcessSet(b"mpi://WORLD".to_vec())), Some(4));
        assert_eq!(size(SplitType::ProcessSet(b"teapot".to_vec())), None);
        let out = if world.rank() == 1 { SplitType::Shared } else { SplitType::Out };
        assert_eq!(size(out), (world.rank() == 1).then_some(1));
    });
}

/// Two machines of two packages of two cores, one rank on each core, but the last rank may use both
/// cores of its package.
#[test]
fn splitting_by_type_goes_down_level_by_level() {
    run(8, |world, fake| {
        let rank = world.rank() as u64;
        let mut places: Places = [None; HARDWARE.len()];
        (places[0], places[1], places[6]) = (Some(rank / 4), Some(rank / 2), (rank < 7).then_some(rank));
        let mut sizes = Vec::new();
        let mut comm = world.split(0, 0, fake).unwrap().unwrap();
        while let Some((next, sort)) =
            comm.split_type(Ok(SplitType::NextLevel), 0, place(&places), fake).unwrap()
        {
            sizes.push((sort.unwrap(), next.size()));
            comm = next;
        }
        let above = [("hwloc://Machine", 4), ("hwloc://Package", 2)];
        let expected = if rank < 7 { [&above[..], &[("hwloc://Core", 1)]].concat() } else { above.to_vec() };
        assert_eq!(sizes, expected);
    });
}

#[test]
fn an_error_of_one_rank_fails_the_call_on_all() {
    let places: Places = [Some(1); HARDWARE.len()];
    let all = |class| vec![Some(class); 4];
    let classes = |call: &(dyn Fn(&Comm, &Fake) -> Result<()> + Sync)| {
        run(4, |world, fake| {
            let failed = call(world, fake).err().map(|error| error.class);
            meet(world, fake);
            failed
        })
    };
    let color = |world: &Comm| if world.rank() == 2 { -5 } else { 0 };
    assert_eq!(classes(&|world, fake| world.split(color(world), 0, fake).map(drop)), all(mpi::MPI_ERR_ARG));
    let wanted = |world: &Comm| match world.rank() {
        1 => Err(Error::new(mpi::MPI_ERR_INFO, "a", "b", "c", "d")),
        _ => Ok(SplitType::Shared),
    };
    let by_type =
        |world: &Comm, fake: &Fake| world.split_type(wanted(world), 0, place(&places), fake).map(drop);
    assert_eq!(classes(&by_type), all(mpi::MPI_ERR_INFO));
    let ways = |world: &Comm| if world.rank() == 1 { SplitType::NextLevel } else { SplitType::Shared };
    let by_ways =
        |world: &Comm, fake: &Fake| world.split_type(Ok(ways(world)), 0, place(&places), fake).map(drop);
    assert_eq!(classes(&by_ways), all(mpi::MPI_ERR_ARG));
    let stranger = |world: &Comm| if world.rank() == 3 { vec![77] } else { vec![0, 1] };
    let create = |world: &Comm, fake: &Fake| {
        let group = Arc::new(Group::new(stranger(world), world.rank() as Peer));
        world.create(&group, fake).map(drop)
    };
    assert_eq!(classes(&create), all(mpi::MPI_ERR_GROUP));
}

#[test]
fn groups_that_overlap_are_refused() {
    let classes = run(3, |world, fake| {
        let ranks: &[i32] = if world.rank() == 0 { &[0, 1] } else { &[1, 2] };
        let group = Arc::new(world.group().incl(ranks).unwrap());
        world.create(&group, fake).err().map(|error| error.class)
    });
    assert_eq!(classes, [Some(mpi::MPI_ERR_GROUP), None, None]);
}

#[test]
fn likeness_looks_at_context_and_order() {
    run(3, |world, fake| {
        let reversed = world.split(0, -world.rank(), fake).unwrap().unwrap();
        let part = world.split(world.rank() / 2, 0, fake).unwrap().unwrap();
        assert_eq!(world.compare(&reversed), Likeness::Similar);
        assert_eq!(world.compare(&part), Likeness::Unequal);
    });
}

#[test]
fn handlers_of_other_kinds_are_refused() {
    run(1, |world, _| {
        let handler = Arc::new(Errhandler::new(Action::Call(Kind::Win, Box::new(|_, code| code))));
        assert_eq!(world.set_errhandler(handler).unwrap_err().class, mpi::MPI_ERR_ERRHANDLER);
    });
}

#[test]
fn blocking_and_nonblocking_collectives_are_counted_apart() {
    run(1, |world, _| {
        let blocking = [world.next_collective_tag(), world.next_collective_tag()];
        assert_eq!(world.next_nonblocking_tag() ^ 1, blocking[0], "not moved on by blocking ones");
        assert_eq!(world.next_nonblocking_tag() ^ 1, blocking[1]);
        assert!(world.next_collective_tag() > blocking[1]);
    });
}
