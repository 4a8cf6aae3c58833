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
use verbena_machine::terminal;

/// Clears the screen and goes to its first line.
const CLEAR: &str = "\x1b[H\x1b[2J";
/// The lines and columns of a terminal that does not say how many it has.
const LINES: usize = 24;
/// The most letters of a job's command that are told.
const COMMAND_MAX: usize = 60;

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
        let page = page::render(&answer, before.as_ref(), terminal::columns());
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
            let named: Vec<String> = several.iter().map(|&job| named(job)).collect();
            bail!("several jobs run here; name the process id of one's mpiexec: {}", named.join(", "))
        }
    }
}

/// A job's number with the command that started it, if that is known. The job is not asked: a
/// question goes to all of its ranks.
fn named(job: u32) -> String {
    let command = std::fs::read(format!("/proc/{job}/cmdline")).unwrap_or_default();
    let words = String::from_utf8_lossy(&command).trim_end_matches('\0').replace(char::is_control, " ");
    match words.chars().nth(COMMAND_MAX) {
        _ if words.is_empty() => job.to_string(),
        None => format!("{job} ({words})"),
        Some(_) => format!("{job} ({}...)", words.chars().take(COMMAND_MAX).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_job_needs_no_number() {
        assert_eq!(only_job(&[7]).expect("one"), 7);
        assert!(only_job(&[]).is_err());
        let several = only_job(&[u32::MAX - 1, u32::MAX]).unwrap_err().to_string();
        assert!(several.ends_with("4294967294, 4294967295"), "{several}");
        // A process that would not answer: nobody is asked.
        let own = std::process::id();
        let command = std::env::args().next().expect("a name");
        let begin: String = command.chars().take(COMMAND_MAX).collect();
        let several = only_job(&[own, u32::MAX]).unwrap_err().to_string();
        assert!(several.contains(&format!(": {own} ({begin}")), "{several}");
    }

    #[test]
    fn times_between_pages_are_checked() {
        assert_eq!(seconds("2"), Ok(2.0));
        assert!(seconds("0").is_err() && seconds("two").is_err());
    }
}
