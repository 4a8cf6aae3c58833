//! The command `mpiexec`, and its agent on other hosts.

use verbena_launch::{agent, cli, debugger, defect, pages, resolve, spawned, supervise};

fn main() {
    let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|word| word == agent::AGENT_OPTION) {
        defect::install(format!("mpiexec --agent on {}", cli::hostname()));
        std::process::exit(agent::run());
    }
    defect::install("mpiexec".into());
    if let Some((word, words)) = arguments.split_first()
        && word == resolve::OPTION
    {
        std::process::exit(resolve::run(words));
    }
    if let Some((word, words)) = arguments.split_first()
        && word == debugger::HOLD_OPTION
    {
        std::process::exit(debugger::hold(words));
    }
    if let Some(code) = pages::run(&arguments) {
        std::process::exit(code);
    }
    let starter = spawned::take(&mut arguments);
    let read = if starter.is_some() { cli::read_spawned(&arguments) } else { cli::read(arguments) };
    let code = match (read, starter) {
        (Ok(order), starter) => supervise::run(order, starter),
        (Err(stop), None) => stop.print(),
        (Err(stop), Some(starter)) => {
            starter.say_stop(&stop);
            stop.code
        }
    };
    std::process::exit(code);
}
