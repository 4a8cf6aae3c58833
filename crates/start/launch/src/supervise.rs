//! The event loop: one thread waits for the hosts, our own output, signals and deadlines, and
//! carries out what [`crate::job`] and [`crate::pmi`] decide.

mod deaths;
mod debugging;
mod ending;
mod inquiry;
mod starting;

use crate::children::{ChildJobs, name_of};
use crate::cli::{Order, hostname};
use crate::explain;
use crate::files::Files;
use crate::job::{Action, Job};
use crate::job_hosts::JobHosts;
use crate::keyboard::Keyboard;
use crate::layout::host_of_rank;
use crate::local_ranks::LocalRanks;
use crate::plan::Exit;
use crate::pmi::{About, Event, Server, Stage};
use crate::preparation::{files, hang_limit, job_name, term_grace, values};
use crate::rank_errors::RankErrors;
use crate::remote::News;
use crate::screen::Screen;
use crate::spawned::Starter;
use crate::stillness::Stillness;
use crate::sys::{self, Poll, Signals};
use crate::top::TopSocket;
use crate::wire::{Command, Report, Stdin};
use debugging::Debugging;
use inquiry::{Inquiries, Purpose};
use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};
use verbena_fault::Fault;
use verbena_hang::words;

/// The longest time between the closing of a dead rank's sockets and the news of its death.
const DEATH_NEWS_DELAY: Duration = Duration::from_millis(10);
/// The longest time between these two when agents pass them on.
const DEATH_NEWS_DELAY_FAR: Duration = Duration::from_millis(50);
/// The time that agents have to report the ends of killed ranks, before the agents count as lost.
const KILL_TIME_MAX: Duration = Duration::from_secs(3);

/// Starts a job, stays with it, and returns its exit code. `starter` is the program that it was
/// started for, if one did.
pub fn run(order: Order, starter: Option<Starter>) -> i32 {
    let own = [
        &verbena_settings::TERM_GRACE_SECONDS.about,
        &verbena_settings::RESOLVE_SECONDS.about,
        &verbena_settings::HANG_SECONDS.about,
    ];
    let is_own = |fault: &&Fault| own.iter().any(|about| fault.to_string().contains(about.name));
    if let Some(fault) = verbena_settings::load().wrong.iter().find(is_own) {
        sys::complain(&format!("mpiexec: {fault}"));
        return 2;
    }
    let files = match files(&order) {
        Ok(files) => files,
        Err(fault) => {
            sys::complain(&format!("mpiexec: {fault}"));
            return 1;
        }
    };
    if let Some(note) = &order.note {
        sys::complain(&format!("mpiexec: {note}"));
    }
    let size = order.size();
    let supervisor = Signals::take().and_then(|signals| Supervisor::new(order, files, signals, starter));
    match supervisor {
        Ok(mut supervisor) => supervisor.run(),
        Err(error) => {
            let on = format!("a job of {size} ranks: {error}");
            let advice = "raise it (ulimit -n, ulimit -u), or start fewer ranks";
            let fault = Fault::new("Could not prepare the start.", on, "a limit is reached", advice);
            sys::complain(&format!("mpiexec: {fault}"));
            1
        }
    }
}

struct Supervisor {
    order: Order,
    started_at: Instant,
    signals: Signals,
    job: Job,
    server: Server,
    hosts: JobHosts,
    /// The jobs that ranks have started.
    children: ChildJobs,
    /// The program that this job was started for.
    starter: Option<Starter>,
    /// The number of ranks that run, or have run.
    started: u32,
    /// The process id of each rank, on its own host.
    pids: Vec<i32>,
    /// The place of the core file of each crashed rank, in words.
    cores: HashMap<u32, String>,
    debugging: Debugging,
    keyboard: Keyboard,
    /// The standard input of rank 0.
    stdin: Stdin,
    screen: Screen,
    /// The last state of our outputs that the hosts were told: held, and shut.
    held: [bool; 2],
    shut: [bool; 2],
    /// The time when agents that have not reported their ranks' ends are lost.
    patience: Option<Instant>,
    /// True once the ranks were told that all have left MPI.
    parted: bool,
    stillness: Stillness,
    top: TopSocket,
    inquiries: Inquiries,
    errors: RankErrors,
    /// The places where ranks crashed, in words.
    crashes: HashMap<u32, String>,
    poll: Poll,
}

impl Supervisor {
    fn new(order: Order, files: Files, signals: Signals, starter: Option<Starter>) -> io::Result<Supervisor> {
        let size = order.size();
        let appnums =
            order.parts.iter().zip(0..).flat_map(|(part, n)| vec![n; part.count as usize]).collect();
        let values = values(&order, starter.as_ref());
        let about = About { job: job_name()?, appnums, nodes: host_of_rank(&order.hosts), values };
        let far = order.hosts.iter().any(|host| host.name.is_some());
        let delay = if far { DEATH_NEWS_DELAY_FAR } else { DEATH_NEWS_DELAY };
        let local = LocalRanks::new(&about.job, signals.before())?;
        Ok(Supervisor {
            started_at: Instant::now(),
            job: Job::new(size, order.timeout)
                .with_news_delay(delay)
                .with_term_grace(term_grace())
                .with_explanation(hang_limit().is_some()),
            server: Server::new(about),
            hosts: JobHosts::new(local, hostname(), size),
            children: ChildJobs::of(&order),
            starter,
            started: 0,
            pids: vec![0; size as usize],
            cores: HashMap::new(),
            debugging: Debugging::default(),
            keyboard: Keyboard::closed(),
            stdin: Stdin::Inherited,
            screen: Screen::new(size, &order.outputs, files),
            held: [false; 2],
            shut: [false; 2],
            patience: None,
            parted: false,
            stillness: Stillness::new(hang_limit()),
            top: TopSocket::open(),
            inquiries: Inquiries::default(),
            errors: RankErrors::default(),
            crashes: HashMap::new(),
            poll: Poll::default(),
            order,
            signals,
        })
    }

    fn run(&mut self) -> i32 {
        self.start_all();
        self.stay();
        self.end();
        match self.job.exit_code() {
            0 => self.children.exit_code(),
            code => code,
        }
    }

    /// Serves the ranks until all have ended.
    fn stay(&mut self) {
        loop {
            self.hear();
            self.inform_debuggers();
            self.watch_over();
            self.let_part();
            self.job.set_losing(self.hosts.deadline().is_some());
            self.job.settle(self.started_at.elapsed(), self.server.someone_waits());
            while let Some(action) = self.job.poll_action() {
                self.act(action);
            }
            if self.job.cause().is_some() {
                self.tell_errors();
            }
            if self.job.is_over() && self.children.are_over() {
                // The results of the actions are judged too: they may have given up on the last
                // ranks.
                return self.job.settle(self.started_at.elapsed(), false);
            }
            let judged = self.job.deadline().map(|at| at.saturating_sub(self.started_at.elapsed()));
            self.serve([judged, self.watch_timeout()].into_iter().flatten().min());
            if self.patience.is_some_and(|until| Instant::now() >= until) {
                self.patience = None;
                self.strike_off(libc::SIGKILL, JobHosts::abandon);
            }
        }
    }

    /// Gives up on agents; their ranks count as ended by this signal.
    fn strike_off(&mut self, signal: i32, give_up: impl Fn(&mut JobHosts) -> Vec<u32>) {
        for rank in give_up(&mut self.hosts) {
            self.job.handle_exit(rank, Exit::Signal(signal), Stage::Fresh);
        }
    }

    /// Waits for something to happen and handles it.
    fn serve(&mut self, timeout: Option<Duration>) {
        self.hold_or_shut();
        self.poll.clear();
        let keyboard = self.keyboard.readable().map(|fd| self.poll.add(fd, true, false));
        self.screen.gather(&mut self.poll);
        self.hosts.gather(&mut self.poll, !self.screen.is_congested(1));
        self.children.gather(&mut self.poll);
        let starter = self.starter.as_ref().and_then(Starter::watched);
        let starter = starter.map(|socket| self.poll.add(socket, true, false));
        let signals = self.poll.add(self.signals.fd(), true, false);
        let top = self.top.fd().map(|fd| self.poll.add(fd, true, false));
        let until = [self.hosts.deadline(), self.patience, self.screen.deadline()];
        let until = until.into_iter().flatten().min();
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        self.poll.wait([timeout, left].into_iter().flatten().min());
        if keyboard.is_some_and(|place| self.poll.is_ready(place)) {
            self.type_in();
        }
        self.screen.serve(&self.poll);
        self.note_loss();
        // Signals come last: a rank's last messages are handled before its death.
        self.hosts.serve(&self.poll);
        self.hear();
        // The end of a line may have come just now.
        self.screen.handle_time();
        self.tell_of_children();
        if starter.is_some_and(|place| self.poll.is_ready(place)) {
            self.hear_starter();
        }
        if self.poll.is_ready(signals) {
            self.take_signals();
        }
        if top.is_some_and(|place| self.poll.is_ready(place)) && self.top.accept() {
            self.inquire_for_top();
        }
    }

    /// Tells the hosts if an output of ours is too full to read more for it, or has no reader any
    /// more.
    fn hold_or_shut(&mut self) {
        for stream in 0..2 {
            let held = self.screen.is_congested(stream);
            if held != std::mem::replace(&mut self.held[stream], held) {
                self.hosts.tell_all(&Command::Hold { stream, held });
            }
            let shut = !self.screen.is_open(stream);
            if shut != std::mem::replace(&mut self.shut[stream], shut) {
                self.hosts.tell_all(&Command::Shut(stream));
            }
        }
    }

    /// Notes outputs that cannot be written.
    fn note_loss(&mut self) {
        while let Some(loss) = self.screen.poll_loss() {
            self.job.handle_loss(loss);
        }
    }

    fn type_in(&mut self) {
        if let Some(bytes) = self.keyboard.read() {
            self.hosts.tell(0, Command::Input(bytes));
        }
    }

    /// Handles the news of all hosts.
    fn hear(&mut self) {
        while let Some((news, ranks)) = self.hosts.poll_news() {
            match news {
                News::Report(report) => self.note(report),
                News::Words(words) => self.screen.say(&words),
                News::Lost { fault, started: false } => self.not_started(&ranks, fault),
                News::Lost { fault, started: true } => self.note_lost(&ranks, fault),
            }
        }
        self.hosts.send_mail();
    }

    fn note(&mut self, report: Report) {
        match report {
            Report::Started { rank, pid } => {
                self.pids[rank as usize] = pid;
                self.started += 1;
                if self.started == self.order.size() {
                    self.note_all_run();
                }
                if rank == 0 && self.gives_terminal_away() {
                    self.hosts.tell(0, Command::Input(Vec::new()));
                } else if rank == 0 && self.stdin == Stdin::Piped {
                    self.keyboard = Keyboard::stdin();
                }
                self.open_gdb(rank);
            }
            Report::Bound { rank, text } => {
                let host = self.hosts.host(rank);
                self.screen.say(&format!("mpiexec: rank {rank} on {host}: {text}"));
            }
            Report::Loaded { rank, load } => {
                self.children.add_load(name_of(self.hosts.other_host(rank)), &load);
            }
            Report::NotStarted { ranks, why } => {
                let fault = self.on_its_host(ranks[0], why.into());
                self.not_started(&ranks, fault);
            }
            Report::Said { rank, bytes } => self.talk(rank, &bytes),
            Report::Wrote { rank, stream, bytes } => self.screen.write(rank, stream, &bytes),
            Report::Closed { rank, stream } => self.screen.close(rank, stream),
            Report::Core { rank, text } => _ = self.cores.insert(rank, text),
            Report::Ended { rank, exit, borne } => self.note_end(rank, exit, borne),
            Report::Acknowledged { dead, .. } => self.job.handle_acknowledged(&dead),
            Report::Refused { dead, .. } => self.job.handle_refused(dead),
            Report::InputTaken { open } => self.keyboard.taken(open),
            Report::Pulse { rank, digest, waiting } => {
                self.stillness.handle_pulse(rank, digest, waiting, self.started_at.elapsed());
            }
            Report::Crashed { rank, places } => _ = self.crashes.insert(rank, words::path(&places)),
            Report::Seen(rank) => self.inquiries.handle_seen(*rank),
            Report::Done => {}
        }
    }

    /// All ranks run: where they are bound is known, and goes to who must know it.
    fn note_all_run(&mut self) {
        if let Some(starter) = &self.starter {
            starter.say_started(self.children.load());
        }
        self.children.note_all_run();
        self.tell_of_children();
    }

    /// Ranks will never start; the program that wanted them hears of it.
    fn not_started(&mut self, ranks: &[u32], fault: Fault) {
        if let Some(starter) = &self.starter {
            starter.say_refused(ranks, &fault.to_string());
        }
        self.job.handle_not_started(ranks, fault);
    }

    fn hear_starter(&mut self) {
        if let Some(Err(fault)) = self.starter.as_mut().map(Starter::hear) {
            self.job.handle_orphaned(fault);
        }
    }

    /// Tells ranks what became of the jobs that they have started.
    fn tell_of_children(&mut self) {
        while let Some(answer) = self.children.poll_answer() {
            self.server.answer_spawn(answer.rank, &answer.outcome);
        }
        self.children.tidy();
        self.post_answers();
    }

    fn post_answers(&mut self) {
        while let Some((to, bytes)) = self.server.poll_output() {
            self.hosts.post(to, bytes);
        }
        self.hosts.send_mail();
    }

    /// Names the rank's host in the message if there are several hosts.
    fn on_its_host(&self, rank: u32, mut fault: Fault) -> Fault {
        if !self.hosts.is_alone() {
            fault.on += &format!(", host {}", self.hosts.host(rank));
        }
        fault
    }

    /// Gives a rank's bytes to the server, and passes on its answers.
    fn talk(&mut self, rank: u32, bytes: &[u8]) {
        self.server.handle_bytes(rank, bytes);
        while let Some((to, bytes)) = self.server.poll_output() {
            self.hosts.post(to, bytes);
        }
        while let Some(event) = self.server.poll_event() {
            match event {
                Event::Abort { rank, code, reason } => self.note_abort(rank, code, reason),
                Event::Garbled { rank, error } => {
                    self.hosts.tell(rank, Command::HangUp(rank));
                    self.job.handle_garbled(rank, error.to_string());
                }
                Event::Spawn { rank, words, parent, mut ranks } => {
                    ranks.retain(|rank| !self.job.has_ended(*rank));
                    self.children.order(rank, words, parent, ranks);
                    self.tell_of_children();
                }
                Event::SpawnParted { rank, number } => self.children.part(rank, number),
                Event::SpawnState { rank, number } => {
                    let is_over = self.children.is_over(number);
                    self.server.answer_spawn_state(rank, is_over);
                }
            }
        }
        self.post_answers();
    }

    fn take_signals(&mut self) {
        while let Some(signal) = self.signals.next() {
            if signal != libc::SIGCHLD {
                self.job.handle_signal(signal, self.started_at.elapsed());
            }
        }
        while let Some(reaped) = sys::reap() {
            self.note_gdb_end(reaped.pid);
            if !self.children.handle_death(&reaped) {
                self.hosts.handle_death(reaped);
            }
        }
        self.hear();
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Explain => self.inquire(Purpose::TimeLimit),
            Action::Signal(signal) if self.explains_before(signal) => self.inquire(Purpose::Signal(signal)),
            action => self.carry_out(action),
        }
    }

    fn carry_out(&mut self, action: Action) {
        match action {
            Action::Explain => {}
            Action::StopSelf => sys::stop_self(),
            // For a job that was spawned, the user hears it of the one that spawned it.
            Action::Remind { signal, left } if self.starter.is_none() => {
                let text = explain::reminder(self.job.running(), signal, left);
                self.screen.say(&format!("mpiexec: {text}"));
            }
            Action::Remind { .. } => {}
            Action::Signal(signal) => {
                if [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGKILL].contains(&signal)
                {
                    self.strike_off(signal, JobHosts::abandon_the_late);
                    self.children.forget_waiting();
                }
                if signal == libc::SIGKILL {
                    self.patience = Some(Instant::now() + KILL_TIME_MAX);
                }
                self.hosts.tell_all(&Command::Signal(signal));
                self.children.signal(signal, self.job.is_failing());
            }
        }
    }
}
