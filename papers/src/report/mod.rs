//! `verbena-papers report`: every figure and table of the five papers, with what this machine shows
//! of it, in one report.
//!
//! What is measured goes into result files (JSON) first; the report is made of those, so that
//! results from elsewhere, such as a Soft-RoCE guest's, join in by `--add`.
//!
//! | module | job |
//! | --- | --- |
//! | [`inventory`] | what the papers have, as data |
//! | [`results`], [`pick`] | what was measured, and which value of it is meant |
//! | [`rows`] | claimed and seen |
//! | [`figure`], [`page`], [`html`], [`markdown`] | showing it |
//! | [`simulate`] | the simulator's figures |
//! | [`plan`], [`measure`], [`record`] | what is measured, within this machine and between nodes, and its result file |
//! | [`trace`] | where the time of a message goes |
//! | [`npb`] | the NAS programs, where somebody has them |
//! | [`command`] | the command line |

pub mod command;
mod figure;
mod html;
mod inventory;
mod markdown;
mod measure;
mod npb;
mod page;
mod pick;
mod plan;
mod record;
mod results;
mod rows;
mod simulate;
mod trace;

/// What a kernel is called in the report.
fn kernel_title(metric: &str) -> &'static str {
    match metric {
        "kernel_is" => "IS, sorting integers",
        "kernel_mg" => "MG, a multigrid cycle",
        "kernel_lu" => "LU, a wavefront",
        "kernel_cg" => "CG, conjugate gradients",
        "kernel_ft" => "FT, a Fourier transform",
        "kernel_sp" => "SP, scalar lines",
        "kernel_bt" => "BT, lines of blocks",
        _ => "SMG, semicoarsening multigrid",
    }
}
