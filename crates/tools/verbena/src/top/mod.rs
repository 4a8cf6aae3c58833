//! `verbena top`: what the ranks of a running job do, as `mpiexec` tells it. On a terminal the page
//! is drawn anew until the job ends; elsewhere it is written once.
//!
//! | module | job |
//! | --- | --- |
//! | `jobs` | the running jobs of this user, and the question to one of them |
//! | `page` | the page, from one answer or two |

mod jobs;
mod page;

use anyhow::{Result, bail};
use clap::Args;
use std::io::IsTerminal;
use std::thread::sleep;
use std::time::Duration;
use verbena_lab::output;

/// Clears the screen and goes to its first line.
const CLEAR: &str = "\x1b[H\x1b[2J";
/// The lines and columns of a terminal that does not say how many it has.
const LINES: usize = 24;

/// The options of `verbena top`.
#[derive(Args, Debug)]
pub(crate) struct TopArgs {
    /// The process id of the job's mpiexec; not needed if only one job of this user runs
    job: Option<u32>,
    /// Write the page once, also on a terminal
    #[arg(long)]
    once: bool,
    /// Seconds between two pages
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    every: f64,
}

fn seconds(text: &str) -> std::result::Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "this is no number of seconds".to_owned())?;
    if (0.5..=3600.0).contains(&number) { Ok(number) } else { Err("give 0.5 to 3600 seconds".into()) }
}

/// Asks and shows.
///
/// # Errors
/// There is no such job, or it does not answer.
pub(crate) fn run(args: &TopArgs) -> Result<()> {
    let job = match args.job {
        Some(job) => job,
        None => only_job(&jobs::running()?)?,
    };
    let mut before = None;
    let is_live = std::io::stdout().is_terminal() && !args.once;
    loop {
        let Some(answer) = jobs::ask(job)? else {
            // A job that ends while it is watched is no error.
            return match before {
                Some(_) => output::line("The job has ended."),
                None => bail!(
                    "no mpiexec of this user answers as process {job}; it has ended, or the number is that of a rank"
                ),
            };
        };
        let page = page::render(&answer, before.as_ref());
        if !is_live {
            return output::print(&page);
        }
        let lines: Vec<&str> = page.lines().take(height().saturating_sub(1)).collect();
        output::print(&format!("{CLEAR}{}\n", lines.join("\n")))?;
        before = Some(answer);
        sleep(Duration::from_secs_f64(args.every));
    }
}

/// The height of the terminal in lines, by the variable that shells keep.
fn height() -> usize {
    std::env::var("LINES").ok().and_then(|lines| lines.parse().ok()).unwrap_or(LINES * 2)
}

fn only_job(jobs: &[u32]) -> Result<u32> {
    match jobs {
        [] => bail!("no job of this user runs on this host under Verbena's mpiexec"),
        [one] => Ok(*one),
        several => {
            let numbers: Vec<String> = several.iter().map(u32::to_string).collect();
            bail!("several jobs run here; name the process id of one's mpiexec: {}", numbers.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_job_needs_no_number() {
        assert_eq!(only_job(&[7]).expect("one"), 7);
        assert!(only_job(&[]).is_err());
        assert!(only_job(&[7, 9]).unwrap_err().to_string().ends_with("7, 9"));
    }

    #[test]
    fn times_between_pages_are_checked() {
        assert_eq!(seconds("2"), Ok(2.0));
        assert!(seconds("0").is_err() && seconds("two").is_err());
    }
}
