//! A process without MPI that speaks to its launcher as the library does. Each word of its
//! arguments is one step to do, in order.

use std::time::Duration;
use verbena_boot::Boot;
use verbena_boot::spawn::{Order, Program};

fn main() {
    verbena_launch::defect::install("boot-client".into());
    let mut boot = Boot::start().unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(99)
    });
    if let Some(warning) = boot.warning() {
        eprintln!("{warning}");
    }
    for step in std::env::args().skip(1) {
        let (step, detail) = step.split_once('=').unwrap_or((&step, ""));
        let (rank, detail) = match detail.split_once('@') {
            Some((detail, rank)) => (rank.parse().ok(), detail),
            None => (None, detail),
        };
        if rank.is_none_or(|rank: u32| rank == boot.rank()) {
            match step {
                "finalize" => return boot.finalize().unwrap_or_else(|error| fail(&error)),
                _ => take_step(&mut boot, step, detail),
            }
        }
    }
}

fn take_step(boot: &mut Boot, step: &str, detail: &str) {
    match step {
        "who" => println!(
            "rank {} of {} kind {} universe {:?} appnum {:?}",
            boot.rank(),
            boot.size(),
            boot.kind(),
            boot.universe_size(),
            boot.appnum()
        ),
        "job" => println!("job {}", boot.job()),
        "exchange" => exchange(boot, detail.parse().unwrap_or(64)),
        "barrier" => boot.barrier().unwrap_or_else(|error| fail(&error)),
        "sleep" => std::thread::sleep(Duration::from_millis(detail.parse().unwrap_or(0))),
        "abort" => boot.abort(detail.parse().unwrap_or(1), "aborted as told"),
        "exit" => std::process::exit(detail.parse().unwrap_or(0)),
        "spawn" => spawn(boot, detail),
        "run" => assert!(shell(detail).status().is_ok_and(|status| status.success()), "{detail}"),
        "kill" => kill_self(detail.parse().unwrap_or(9)),
        "env" => println!("{detail}={}", std::env::var(detail).unwrap_or_default()),
        other => panic!("no such step: {other}"),
    }
}

/// Exchanges cards of different lengths, up to `length` bytes, and looks at every byte of every
/// card.
fn exchange(boot: &mut Boot, length: usize) {
    let card_of = |rank: u32| -> Vec<u8> {
        let length = length.saturating_sub(rank as usize % 7);
        (0..length).map(|i| (i as u32 * 31 + rank * 7) as u8).collect()
    };
    let cards = boot.exchange(&card_of(boot.rank())).unwrap_or_else(|error| fail(&error));
    assert_eq!(cards.len(), boot.size() as usize);
    for (rank, card) in (0..).zip(&cards) {
        assert_eq!(card, &card_of(rank), "the card of rank {rank}");
    }
    println!("exchanged {}", cards.len());
}

/// Spawns a shell script; `OBJECT:SCRIPT` says to which sort of object it is bound.
fn spawn(boot: &mut Boot, detail: &str) {
    let (object, script) = detail.split_once(':').unwrap_or(("none", detail));
    let program = Program {
        count: 1,
        program: "sh".into(),
        arguments: vec!["-c".into(), script.into()],
        bind_to: Some(object.into()),
        ..Program::default()
    };
    let order = Order { programs: vec![program], ..Order::default() };
    if let Err(error) = boot.spawn(&order, None) {
        panic!("{error:?}");
    }
}

fn shell(script: &str) -> std::process::Command {
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script]);
    shell
}

fn kill_self(signal: i32) {
    let kill = format!("kill -{signal} $PPID");
    let _ = shell(&kill).status();
    std::thread::sleep(Duration::from_secs(10));
}

fn fail<T>(error: &verbena_boot::BootError) -> T {
    eprintln!("{error}");
    std::process::exit(98)
}
