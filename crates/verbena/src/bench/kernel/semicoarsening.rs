//! The communication of a semicoarsening multigrid cycle, in the manner of SMG2000 (paper 4, 5.3.2): many small messages to many
//! ranks.
//!
//! The ranks are a grid in three dimensions. Coarsening goes one dimension at a time: first z, then, to solve each plane, y, and
//! x to solve each line. On each coarser grid only every second plane is left, so a rank's neighbours in that dimension are twice as
//! far, and its faces that lie along it half as large. On each grid a rank exchanges its boundary with all its neighbours, those
//! across edges and corners too (the operators of coarse grids have 27 points): all messages of an exchange are started, then
//! waited for. Edges have the square root of a face's numbers, corners one.

use super::DOUBLE_BYTES;
use crate::buffer::Buffer;
use crate::mpi::{Message, Window, World};
use anyhow::Result;

/// The ranks in each dimension: as even as whole numbers allow, the largest first.
fn grid(ranks: usize) -> [usize; 3] {
    let mut best = [ranks, 1, 1];
    for x in 1..=ranks {
        for y in (1..=ranks / x).filter(|y| ranks.is_multiple_of(x * y)) {
            let z = ranks / (x * y);
            let shape = [x, y, z];
            if x >= y && y >= z && x < best[0] {
                best = shape;
            }
        }
    }
    best
}

/// The steps by which grids of so many ranks are coarsened, from the finest: 1, 2, 4, ...
fn strides(ranks: usize) -> impl Iterator<Item = usize> + Clone {
    std::iter::successors(Some(1), |stride| Some(stride * 2)).take_while(move |&stride| stride < ranks.max(2))
}

/// The messages of one exchange: to whom, and how many bytes.
fn exchange(rank: usize, shape: [usize; 3], stride: [usize; 3], face: usize) -> Vec<Message> {
    let place = [rank % shape[0], rank / shape[0] % shape[1], rank / (shape[0] * shape[1])];
    let mut messages = Vec::new();
    for direction in 0..27usize {
        let step = [direction % 3, direction / 3 % 3, direction / 9];
        let Some(peer) = neighbour(place, shape, stride, step) else { continue };
        let dimensions = step.iter().filter(|&&step| step != 1).count();
        let shrunk = face / stride.iter().product::<usize>();
        let bytes = match dimensions {
            1 => shrunk,
            2 => ((shrunk / DOUBLE_BYTES) as f64).sqrt() as usize * DOUBLE_BYTES,
            _ => DOUBLE_BYTES,
        };
        messages.push(Message { peer: peer as i32, bytes: bytes.max(DOUBLE_BYTES), tag: direction as i32 });
    }
    messages
}

/// The rank that lies a stride off (0: below, 1: the same, 2: above) in each dimension, if the grid has it and it is another.
fn neighbour(place: [usize; 3], shape: [usize; 3], stride: [usize; 3], step: [usize; 3]) -> Option<usize> {
    let mut at = [0; 3];
    for dimension in 0..3 {
        let here = place[dimension] + stride[dimension] * step[dimension];
        at[dimension] = here.checked_sub(stride[dimension]).filter(|&at| at < shape[dimension])?;
    }
    (at != place).then(|| at[0] + shape[0] * (at[1] + shape[1] * at[2]))
}

/// The opposite of a direction: what the other side calls the same exchange.
fn opposite(tag: i32) -> i32 {
    26 - tag
}

/// A cycle: down and up through the grids of z, for each those of y, for each those of x.
pub fn round(world: &World, window: &mut Window<'_>, from: &Buffer, to: &Buffer, bytes: usize) -> Result<()> {
    let (rank, shape) = (world.rank() as usize, grid(world.size() as usize));
    for z in there_and_back(shape[2]) {
        for y in there_and_back(shape[1]) {
            for x in there_and_back(shape[0]) {
                let messages = exchange(rank, shape, [x, y, z], bytes);
                window.exchange_with_all(from, to, &messages, opposite)?;
            }
        }
    }
    world.allreduce(from, to, DOUBLE_BYTES)
}

/// The strides of a cycle in one dimension.
fn there_and_back(ranks: usize) -> impl Iterator<Item = usize> {
    let down: Vec<usize> = strides(ranks).collect();
    let up: Vec<usize> = down.iter().rev().skip(1).copied().collect();
    down.into_iter().chain(up)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn grids_are_as_even_as_can_be() {
        assert_eq!(
            [1, 2, 4, 7, 8, 12, 16].map(grid),
            [[1, 1, 1], [2, 1, 1], [2, 2, 1], [7, 1, 1], [2, 2, 2], [3, 2, 2], [4, 2, 2]]
        );
    }

    /// What one sends the other receives: the same bytes, under the direction seen from there.
    #[test]
    fn every_message_has_its_other_side() {
        for ranks in [2, 6, 16] {
            let shape = grid(ranks);
            for stride in [[1, 1, 1], [2, 1, 1]] {
                let all = |rank| exchange(rank, shape, stride, 4096);
                for rank in 0..ranks {
                    for message in all(rank) {
                        let other = Message { peer: rank as i32, tag: opposite(message.tag), ..message };
                        assert!(all(message.peer as usize).contains(&other), "{ranks}: {rank} {message:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn sixteen_ranks_speak_to_many_others() {
        let shape = grid(16);
        let peers: BTreeSet<i32> = there_and_back(shape[0])
            .flat_map(|x| exchange(5, shape, [x, 1, 1], 4096))
            .map(|message| message.peer)
            .collect();
        assert!(peers.len() >= 11, "{peers:?}");
    }
}
