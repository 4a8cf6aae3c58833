//! `MPI_Alltoallw`: every block has a datatype of its own.

use crate::arena::Arena;
use crate::job::{Family, Job, Maker};
use crate::moving::mirrored;
use std::sync::{Arc, OnceLock};
use verbena_memory::elements::Elements;
use verbena_memory::layout::Layout;
use verbena_mpi::coll::{Blocks, Counts, operations};

/// The blocks of one side: elements of different layouts, placed by bytes.
pub(crate) struct Typed {
    counts: Vec<i64>,
    pub places: Vec<i64>,
    layouts: Vec<Arc<Layout>>,
    /// The layouts in the form that arenas want.
    pub named: Vec<&'static Arc<Layout>>,
}

impl Typed {
    pub(crate) fn blocks(&self, base: Elements<'static>) -> Blocks<'_> {
        let (counts, displacements) = (Counts::Large(&self.counts), Counts::Large(&self.places));
        Blocks::Typed { base, counts, displacements, layouts: &self.layouts }
    }
}

fn byte() -> &'static Arc<Layout> {
    static BYTE: OnceLock<Arc<Layout>> = OnceLock::new();
    BYTE.get_or_init(|| Arc::new(Layout::contiguous(1)))
}

impl Maker<'_> {
    /// Blocks of these counts and kinds, one after the other with gaps, and memory for them.
    pub(crate) fn typed(&mut self, blocks: &[(i64, Family)]) -> (Arena, Typed) {
        let mut typed =
            Typed { counts: Vec::new(), places: Vec::new(), layouts: Vec::new(), named: Vec::new() };
        let mut end = 0;
        for &(count, family) in blocks {
            let layout = self.layout(family);
            let (low, high) = layout.span(count as usize).expect("a span");
            end += self.random.below(4) as isize;
            typed.places.push((end - low) as i64);
            end += high - low;
            typed.counts.push(count);
            typed.layouts.push(layout.clone());
            typed.named.push(layout);
        }
        (Arena::new(end as usize, byte()), typed)
    }

    fn pair_families(&mut self, symmetric: bool) -> Vec<Vec<Family>> {
        let families: Vec<Vec<_>> =
            (0..self.ranks).map(|_| (0..self.ranks).map(|_| self.family()).collect()).collect();
        if symmetric { mirrored(&families) } else { families }
    }

    pub(crate) fn alltoallw(&mut self) -> Job {
        let in_place = self.random.percent(30);
        let (counts, families) = (self.pair_counts(in_place), self.pair_families(in_place));
        let mut job = Job::new(format!("alltoallw, {in_place}"));
        let ranks = 0..self.ranks;
        let all: Vec<Vec<_>> = ranks
            .clone()
            .map(|from| {
                ranks.clone().map(|to| self.values(counts[from][to] as usize, families[from][to])).collect()
            })
            .collect();
        for rank in ranks.clone() {
            let going: Vec<_> = ranks.clone().map(|i| (counts[rank][i], families[rank][i])).collect();
            let coming: Vec<_> = ranks.clone().map(|i| (counts[i][rank], families[i][rank])).collect();
            let ((mut send, going), (mut recv, coming)) = (self.typed(&going), self.typed(&coming));
            for (i, values) in all[rank].iter().enumerate() {
                let (arena, typed) = if in_place { (&mut recv, &coming) } else { (&mut send, &going) };
                arena.put_at(typed.places[i] as isize, typed.named[i], values);
            }
            for (i, row) in all.iter().enumerate() {
                recv.expect_at(coming.places[i] as isize, coming.named[i], &row[rank]);
            }
            let (sends, recvs) = (send.elements(), recv.elements());
            job.part(vec![send, recv], move |schedule, comm| {
                let sent = (!in_place).then(|| going.blocks(sends));
                operations::alltoallv(schedule, comm, sent, coming.blocks(recvs))
            });
        }
        job
    }
}
