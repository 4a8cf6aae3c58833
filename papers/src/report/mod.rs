//! `verbena-papers report`: every figure and table of the five papers, with this machine's results,
//! in one report.
//!
//! Measurements go into result files (JSON) first, and the report is made of those. So `--add` can
//! take results from elsewhere, such as a Soft-RoCE guest's.
//!
//! | module | job |
//! | --- | --- |
//! | [`inventory`] | the contents of the papers, as data |
//! | [`results`], [`pick`] | the measurements, and which value of them is meant |
//! | [`rows`] | claimed and seen |
//! | [`kinds`], [`constants`] | what stands behind a number: measurement, count, result or input of a model |
//! | [`jobs`], [`noise`], [`traffic`] | the jobs that count, their noise, the proof that two variants differ |
//! | [`verdict`] | what may be said of a ratio |
//! | [`figure`], [`page`], [`html`], [`markdown`] | showing it |
//! | [`simulate`], [`kernels`] | the simulator's figures; the kernels over simulated nodes |
//! | [`plan`], [`measure`] | the measurements, within this machine and between nodes |
//! | [`record`], [`job_table`] | their result file |
//! | [`bare`] | the bare device, by `verbena bench verbs` |
//! | [`predicted`] | the ladder that the model predicts from it |
//! | [`trace`] | the parts of a message's time |
//! | [`npb`], [`smg`], [`program`] | the programs of others, where somebody has them |
//! | [`command`] | the command line |

mod bare;
pub(crate) mod command;
mod constants;
mod figure;
mod html;
mod inventory;
mod job_table;
mod jobs;
mod kernels;
mod kinds;
mod markdown;
mod measure;
mod noise;
mod npb;
mod page;
mod pick;
mod plan;
mod predicted;
mod program;
mod record;
mod results;
mod rows;
mod simulate;
mod smg;
mod trace;
mod traffic;
mod verdict;

/// Returns the name of a kernel in the report.
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
