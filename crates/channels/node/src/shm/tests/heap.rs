//! The heap as two ranks in one process see it, each in its own mapping.

use super::shortage::{apart, data_file, whole};
use super::*;
use crate::cma::own_memory;
use crate::shm::heap::GUARDED_MAX;
use verbena_channel::heap::{Block, Ticket};
use verbena_testing::children::end_of_child;
use verbena_testing::files::take_over;
use verbena_testing::refusal::{Call, refuse};

const PAGE: usize = 4096;

fn heap(end: &ShmChannel) -> &NodeHeap {
    end.heap.as_ref().unwrap()
}

/// The pages of a region that take memory.
fn resident(region: Region) -> usize {
    let pages = region.len().div_ceil(PAGE);
    let mut resident = vec![0u8; pages];
    // SAFETY: the call fills one byte for each page of the range.
    let rc = unsafe { libc::mincore(region.pointer().cast(), region.len(), resident.as_mut_ptr()) };
    assert_eq!(rc, 0, "{}", std::io::Error::last_os_error());
    resident.iter().filter(|&&page| page & 1 == 1).count()
}

/// Returns whether this process may touch the byte at an address.
fn may_touch(address: u64) -> bool {
    let mut byte = [0];
    // SAFETY: the byte lives until the call is over.
    own_memory().read(address, unsafe { Region::of(&mut byte) }).is_ok()
}

/// Returns whether a core dump has the memory at an address.
fn is_dumped(address: u64) -> bool {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mut inside = false;
    for line in maps.lines() {
        if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| inside) {
            return !flags.split_whitespace().any(|flag| flag == "dd");
        }
        let number = |text| u64::from_str_radix(text, 16).ok();
        let range = line.split_whitespace().next().and_then(|word| word.split_once('-'));
        if let Some((Some(first), Some(end))) = range.map(|(first, end)| (number(first), number(end))) {
            inside = (first..end).contains(&address);
        }
    }
    panic!("nothing is mapped at {address:#x}");
}

#[test]
fn a_block_of_one_rank_is_used_by_the_other() {
    let (a, b) = pair();
    let block = heap(&a).allocate(100_000).unwrap();
    let (ours, theirs) = (block.region(), heap(&b).at(block.ticket()).unwrap());
    assert_ne!(ours.address(), theirs.address());
    assert_eq!((ours.len(), theirs.len()), (100_000, 100_000));
    assert!(theirs.to_vec().iter().all(|&byte| byte == 0));
    theirs.write(99_990, &[7; 10]);
    ours.write(0, &[9; 10]);
    assert_eq!((ours.part(99_990, 10).to_vec(), theirs.part(0, 10).to_vec()), (vec![7; 10], vec![9; 10]));
}

#[test]
fn blocks_of_all_ranks_lie_apart() {
    let ends = node(3);
    let allocate = |k: usize| heap(&ends[k % 3]).allocate(1 + k * 1237 % 9000).unwrap();
    let mut blocks: Vec<Block> = (0..90).map(allocate).collect();
    blocks.iter().enumerate().for_each(|(k, block)| block.region().fill(k as u8));
    for (k, block) in blocks.iter().enumerate() {
        let seen = heap(&ends[(k + 1) % 3]).at(block.ticket()).unwrap();
        assert!(seen.to_vec().iter().all(|&byte| byte == k as u8), "block {k}");
    }
    // What takes the place of others is zero.
    blocks.truncate(30);
    assert!(allocate(77).region().to_vec().iter().all(|&byte| byte == 0));
}

#[test]
fn only_pages_that_were_touched_take_memory_and_all_are_given_back() {
    let (a, b) = pair();
    let block = heap(&a).claim(100 * PAGE, 1).unwrap();
    let region = block.region();
    assert_eq!(resident(region), 0);
    block.touch(10 * PAGE, 3 * PAGE).unwrap();
    assert_eq!(resident(region), 3);
    // The other rank's part begins and ends within pages.
    let part = block.ticket().part(50 * PAGE as u64 + 1, PAGE as u64).unwrap();
    heap(&b).touch(part).unwrap().fill(1);
    assert_eq!((resident(region), region.part(50 * PAGE, 2).to_vec()), (5, vec![0, 1]));
    drop(block);
    assert_eq!(resident(region), 0);
}

#[test]
fn nothing_but_blocks_can_be_touched_or_is_dumped() {
    let (a, b) = pair();
    let block = heap(&a).allocate(2 * PAGE).unwrap();
    let (first, end) = (block.region().address(), block.region().address() + 2 * PAGE as u64);
    assert!(may_touch(first) && may_touch(end - 1) && !may_touch(end));
    assert!(is_dumped(first) && !is_dumped(end));
    let theirs = heap(&b).base() + block.ticket().offset;
    assert!(!may_touch(theirs), "before it is asked for");
    assert_eq!(heap(&b).at(block.ticket()).map(|region| region.address()), Some(theirs));
    assert!(may_touch(theirs) && !is_dumped(theirs), "once is enough");
    drop(block);
    assert!(!may_touch(first) && !is_dumped(first));
}

#[test]
fn single_pages_are_used_again_and_are_zero() {
    let (a, b) = pair();
    let block = heap(&a).allocate(PAGE).unwrap();
    let (ticket, theirs) = (block.ticket(), heap(&b).at(block.ticket()).unwrap());
    theirs.fill(7);
    drop(block);
    let longer = heap(&a).allocate(PAGE + 1).unwrap();
    let aligned = heap(&a).allocate_aligned(8, 2 * PAGE).unwrap();
    assert!([&longer, &aligned].iter().all(|other| other.ticket().offset != ticket.offset));
    let again = heap(&a).allocate(100).unwrap();
    assert_eq!(again.ticket(), ticket.part(0, 100).unwrap());
    assert!(theirs.to_vec().iter().all(|&byte| byte == 0), "it is zero, and the same memory");
    assert!(heap(&a).allocate(8).unwrap().ticket().offset != ticket.offset, "it is held");
    drop((longer, aligned, again));
    // What is kept is there for longer blocks, too.
    heap(&a).claim(heap(&a).slice_bytes() as usize, 1).unwrap();
    assert!(!may_touch(heap(&a).base() + ticket.offset));
}

#[test]
fn the_pages_beside_a_guarded_block_are_closed_to_all() {
    let (a, b) = pair();
    let page = PAGE as u64;
    let before = heap(&a).allocate(PAGE).unwrap();
    let blocks = [PAGE, 100, 5 * PAGE].map(|bytes| heap(&a).allocate_guarded(bytes, 1).unwrap());
    let behind = heap(&a).allocate(PAGE).unwrap();
    for block in [&blocks[0], &blocks[1], &blocks[2]] {
        let theirs = heap(&b).at(block.ticket()).unwrap();
        for region in [block.region(), theirs] {
            let (first, end) =
                (region.address(), (region.address() + region.len() as u64).next_multiple_of(page));
            assert!(may_touch(first) && may_touch(end - 1), "{block:?}");
            assert!(!may_touch(first - 1) && !may_touch(end), "{block:?}");
        }
    }
    assert!([&before, &behind].iter().all(|block| may_touch(block.region().address())));
    let aligned = heap(&a).allocate_guarded(8, 1 << 16).unwrap();
    assert!(aligned.region().address().is_multiple_of(1 << 16));
    // A page that is kept stays between its closed ones, and is for such blocks only.
    let [first, second, third] = blocks;
    let ticket = first.ticket();
    drop(first);
    assert_ne!(heap(&a).allocate(PAGE).unwrap().ticket(), ticket);
    assert_eq!(heap(&a).allocate_guarded(PAGE, 1).unwrap().ticket(), ticket);
    drop((second, third, before, behind, aligned));
    heap(&a).claim(heap(&a).slice_bytes() as usize, 1).expect("all is free again");
}

#[test]
fn no_more_blocks_are_guarded_than_the_kernel_keeps_apart() {
    let (a, _b) = pair();
    let most = GUARDED_MAX / 2;
    let blocks: Vec<Block> = (0..most + 3).map(|_| heap(&a).claim_guarded(PAGE, 1).unwrap()).collect();
    let end = |block: &Block| block.region().address() + PAGE as u64;
    assert!(!may_touch(end(&blocks[most - 1])));
    assert!(may_touch(end(&blocks[most])) && may_touch(end(&blocks[most + 1])));
}

/// A kernel that opens nothing any more is asked for nothing that is open.
#[test]
fn memory_of_others_is_opened_once() {
    apart(|| {
        let (a, b) = pair();
        let blocks = [0, 1].map(|_| heap(&a).allocate(3 * PAGE).unwrap());
        let open = |block: &Block| heap(&b).at(block.ticket());
        let first = open(&blocks[0]).unwrap();
        refuse(&[Call::any(libc::SYS_mprotect)], libc::ENOMEM);
        assert_eq!(open(&blocks[0]), Some(first));
        let part = blocks[0].ticket().part(PAGE as u64 + 7, 1).unwrap();
        assert_eq!(heap(&b).at(part), Some(first.part(PAGE + 7, 1)));
        assert_eq!(open(&blocks[1]), None);
        assert_eq!(heap(&a).at(blocks[1].ticket()), Some(blocks[1].region()), "its owner has it open");
    });
}

#[test]
fn a_block_begins_where_it_was_asked_to() {
    let (a, _b) = pair();
    let _odd = heap(&a).allocate(1).unwrap();
    for alignment in [1, 64, 8192, 2 << 20] {
        let block = heap(&a).allocate_aligned(100, alignment).unwrap();
        assert!(block.region().address().is_multiple_of(alignment as u64), "{alignment}");
    }
}

#[test]
fn memory_is_found_in_one_block_that_is_held_here() {
    let (a, b) = pair();
    let (first, second) = (heap(&a).allocate(PAGE).unwrap(), heap(&a).allocate(100).unwrap());
    let at = first.region().address();
    assert_eq!(second.region().address(), at + PAGE as u64, "they lie side by side");
    assert_eq!(heap(&a).find(at, PAGE), Some(first.ticket()));
    assert_eq!(heap(&a).find(at + 40, 60), first.ticket().part(40, 60));
    assert_eq!([heap(&a).find(at + 1, PAGE), heap(&a).find(at + PAGE as u64, 101)], [None; 2]);
    assert_eq!([heap(&a).find(at - 1, 1), heap(&a).find(8, 1), heap(&a).find(u64::MAX, 1)], [None; 3]);
    let theirs = heap(&b).at(first.ticket()).unwrap().address();
    assert_eq!(heap(&b).find(theirs, 1), None, "the other rank allocated it");
    assert!(heap(&a).covers(at) && heap(&b).covers(theirs) && !heap(&a).covers(8));
    drop(first);
    assert_eq!(heap(&a).find(at, PAGE), None);
    second.keep();
    assert!(heap(&a).find(at + PAGE as u64, 100).is_some(), "a block that is kept stays");
}

#[test]
fn tickets_that_lead_outside_are_refused() {
    let (a, b) = pair();
    let bytes = 2 * heap(&a).slice_bytes();
    let outside = [(0, bytes + 1), (bytes, 1), (u64::MAX, 1), (1, u64::MAX), (bytes - 8, 9)];
    for (offset, bytes) in outside {
        let ticket = Ticket { offset, bytes };
        assert_eq!(heap(&b).at(ticket), None, "{ticket:?}");
        assert!(heap(&b).touch(ticket).unwrap_err().what.contains("cannot be used"));
    }
    assert!(heap(&b).at(Ticket { offset: bytes - 8, bytes: 8 }).is_some());
}

#[test]
fn the_ranks_of_the_node_are_united_and_woken() {
    let (a, b) = pair();
    assert!(heap(&a).unites(0) && heap(&a).unites(1) && !heap(&a).unites(2));
    let bell = &b.control.words(1).bell;
    bell.raise();
    heap(&a).wake(0);
    heap(&a).wake(2);
    assert!(bell.is_raised());
    heap(&a).wake(1);
    assert!(!bell.is_raised());
}

#[test]
fn more_than_a_slice_is_a_fault_with_the_numbers() {
    let (a, _b) = pair();
    let slice = heap(&a).slice_bytes() as usize;
    let block = heap(&a).claim(PAGE, 1).unwrap();
    for asked in [slice, usize::MAX] {
        let fault = heap(&a).claim(asked, 1).unwrap_err();
        assert!(fault.what.contains(&asked.to_string()), "{fault}");
        assert!(fault.on.contains(&format!("{} of {slice} bytes are free", slice - PAGE)), "{fault}");
    }
    drop(block);
    drop(heap(&a).claim(slice, 1).unwrap());
    heap(&a).claim(slice, 1).unwrap();
}

/// A slice is as large as the machine's memory, which is never all free.
#[test]
fn more_than_is_free_is_refused_before_any_page_is_taken() {
    let (a, b) = pair();
    let slice = heap(&a).slice_bytes() as usize;
    let fault = heap(&a).allocate(slice).unwrap_err();
    assert!(fault.what.contains(&slice.to_string()) && fault.on.contains("other ranks take 0"), "{fault}");
    // The other rank is about to take what is there.
    let reserving = b.control.reserving();
    reserving.fetch_add(1 << 60, SeqCst);
    let fault = heap(&a).allocate(1 << 20).unwrap_err();
    assert!(fault.on.contains(&format!("other ranks take {}", 1u64 << 60)), "{fault}");
    heap(&a).allocate(PAGE).unwrap();
    reserving.fetch_sub(1 << 60, SeqCst);
    heap(&a).allocate(1 << 20).unwrap();
    assert_eq!(reserving.load(SeqCst), 0);
    assert!(heap(&a).claim(slice, 1).is_ok(), "all is free again");
}

#[test]
fn a_system_without_memory_is_a_fault_and_costs_no_room() {
    for errno in [libc::EFAULT, libc::ENOMEM] {
        apart(move || {
            let (a, b) = pair();
            refuse(&[Call::POPULATE_MEMORY], errno);
            let fault = heap(&a).allocate(5000).unwrap_err();
            assert!(fault.what.contains("5000 bytes") && fault.on.contains("bytes are free"), "{fault}");
            assert_eq!(b.control.reserving().load(SeqCst), 0);
            heap(&a).claim(heap(&a).slice_bytes() as usize, 1).unwrap();
        });
    }
}

/// A kernel without the advice needs the descriptor; the program closes it, and has a file there.
#[test]
fn a_lost_descriptor_is_found_out_and_no_other_file_met() {
    apart(|| {
        refuse(&[Call::POPULATE], libc::EINVAL);
        let (a, _b) = pair();
        let block = heap(&a).allocate(8192).unwrap();
        block.region().fill(1);
        let file = data_file(1 << 16);
        take_over(heap(&a).kept_descriptor().expect("it is kept"), &file);
        let fault = heap(&a).allocate(8192).unwrap_err();
        assert!(fault.what.contains("its descriptor is gone"), "{fault}");
        // Pages that cannot be given back are not zero: they are not used again.
        let first = block.ticket().offset;
        drop(block);
        assert!(!may_touch(heap(&a).base() + first));
        assert!(heap(&a).claim(8192, 1).unwrap().ticket().offset > first);
        let fault = heap(&a).claim(heap(&a).slice_bytes() as usize, 1).unwrap_err();
        assert!(fault.on.contains("24576 were lost"), "{fault}");
        assert_eq!(whole(&file), vec![7; 1 << 16]);
    });
}

/// The kernel refuses to open memory, as a process is refused that has too many mappings.
#[test]
fn memory_that_cannot_be_opened_is_a_fault() {
    apart(|| {
        let (a, b) = pair();
        let block = heap(&b).allocate(PAGE).unwrap();
        refuse(&[Call::any(libc::SYS_mprotect)], libc::ENOMEM);
        let fault = heap(&a).claim(PAGE, 1).unwrap_err();
        assert!(fault.cause.contains("vm.max_map_count"), "{fault}");
        assert_eq!(heap(&a).at(block.ticket()), None);
    });
}

#[test]
fn a_child_frees_nothing_of_its_parent() {
    let (a, _b) = pair();
    let mut block = Some(heap(&a).allocate(PAGE).unwrap());
    let region = block.as_ref().unwrap().region();
    region.fill(5);
    let status = end_of_child(|| {
        drop(block.take());
        0
    });
    assert_eq!((status, region.to_vec()), (0, vec![5; PAGE]));
}
