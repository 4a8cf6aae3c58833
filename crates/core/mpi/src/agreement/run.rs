//! The protocol over the messages of the engine, as a task.
//!
//! The task outlives the agreement: it ends when the last member has told its decision, so that no
//! message of it is left over.
//!
//! Only a death that was told counts as one. A member that is cut off by a broken link may live and
//! decide with the others: without it nothing is decided here, and there is an error instead.

use super::machine::{Machine, Message};
use super::value::Value;
use crate::active::Pending;
use crate::comm::{Comm, Traffic};
use crate::error::{Error, Result};
use crate::generated::constants::MPI_ERR_INTERN;
use crate::process::{NEWS_TIME_MAX, Process, failure_error};
use crate::request::{Active, Outcome};
use crate::task::Task;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use verbena_channel::Peer;
use verbena_channel::mark::Mark;
use verbena_engine::{Completion, LASTING_TAG, Mode, Posted, ReceiveRequest, RequestId, SendRequest};
use verbena_memory::{Buffer, Owned};

/// The agreements of a communicator that have tags of their own.
const TAGS: u32 = 1 << 23;

/// An agreement that was started.
#[derive(Clone)]
pub struct Agreement(Arc<OnceLock<Result<Value>>>);

impl Agreement {
    /// The decision, once it is made.
    pub fn decision(&self) -> Option<&Result<Value>> {
        self.0.get()
    }

    /// Waits for the decision.
    ///
    /// # Errors
    /// A member is cut off that is not known to be dead: the others may decide what they like.
    pub fn wait(&self, process: &Process) -> Result<Value> {
        process.wait(|_| self.0.get().cloned())
    }

    /// An operation that ends with the agreement; `conclude` makes its outcome of the decision,
    /// once.
    pub fn then(self, conclude: impl FnOnce(&Result<Value>) -> Result<()> + Send + Sync + 'static) -> Active {
        let conclude = verbena_waiting::lock::Lock::new(Some(Box::new(conclude) as Conclude));
        Active::Far(Arc::new(Concluding { agreement: self, conclude, outcome: OnceLock::new() }))
    }
}

/// The use that is made of the decision.
type Conclude = Box<dyn FnOnce(&Result<Value>) -> Result<()> + Send + Sync>;

/// An agreement and what follows from it.
struct Concluding {
    agreement: Agreement,
    conclude: verbena_waiting::lock::Lock<Option<Conclude>>,
    outcome: OnceLock<Result<()>>,
}

impl Pending for Concluding {
    fn poll(&self, _: &Process) -> Option<Outcome> {
        let decision = self.agreement.decision()?;
        if let Some(conclude) = self.conclude.lock().take() {
            let _ = self.outcome.set(conclude(decision));
        }
        let outcome = self.outcome.get()?;
        Some(Outcome { error: outcome.clone().err(), ..Outcome::EMPTY })
    }
}

/// The task.
struct Running {
    machine: Machine,
    me: usize,
    members: Vec<Peer>,
    context: u64,
    tag: i32,
    /// The receive from each member, with its memory.
    receives: Vec<Option<(RequestId, Owned)>>,
    /// Sends that have not ended, with their memory.
    sends: Vec<(usize, RequestId, Owned)>,
    /// The members that are cut off but not known to be dead.
    doubtful: Vec<bool>,
    /// The reason why the first of them is, and when that was seen.
    doubt: Option<(Error, Instant)>,
    decision: Agreement,
}

/// Starts an agreement among all members of the communicator, of both groups of an
/// intercommunicator. All that live start it, in the same order.
pub fn start(process: &Process, comm: &Comm, own: Value) -> Agreement {
    let members = comm.everyone();
    let me = members.iter().position(|peer| *peer == process.me()).expect("a member");
    let dead = process.look(|engine| engine.dead().to_vec());
    let failed: Vec<usize> = (0..members.len()).filter(|member| dead.contains(&members[*member])).collect();
    let decision = Agreement(Arc::new(OnceLock::new()));
    let size = members.len();
    let mut running = Running {
        machine: Machine::new(me, size, own, &failed),
        me,
        members,
        context: comm.context(Traffic::Exchange),
        tag: LASTING_TAG - (comm.next_agreement() % TAGS) as i32,
        receives: (0..size).map(|_| None).collect(),
        sends: Vec::new(),
        doubtful: vec![false; size],
        doubt: None,
        decision: decision.clone(),
    };
    (0..size).for_each(|member| running.expect(process, member));
    process.tasks().start(process, Box::new(running));
    decision
}

impl Running {
    /// Posts a receive for the next message of a member, if there may be one.
    fn expect(&mut self, process: &Process, member: usize) {
        while self.machine.awaits(member) && !self.doubtful[member] {
            let memory = Owned::zeroed(Message::words_max(self.members.len()) * 8);
            let receive = ReceiveRequest {
                peer: Some(self.members[member]),
                context: self.context,
                source: member as i32,
                tag: self.tag,
                buffer: Buffer::Contiguous(memory.lend()),
                mark: Mark::NONE,
            };
            match process.command(|engine| engine.receive(receive)) {
                Posted::Pending(id) => return self.receives[member] = Some((id, memory)),
                Posted::Done(completion) => self.take(process, member, completion, &memory),
            }
        }
    }

    /// Takes what a receive from a member has brought: a message, or the news that it failed.
    fn take(&mut self, process: &Process, member: usize, completion: Completion, memory: &Owned) {
        if completion.failure.is_some() {
            return self.take_failure(process, member, completion);
        }
        let bytes = memory.lend().part(0, completion.bytes as usize).to_vec();
        match Message::decode(&bytes, self.members.len()) {
            Some(message) => self.machine.handle(member, message),
            None => self.doubt(member, nonsense(self.members[member])),
        }
    }

    /// Takes the failure of a message from or to a member.
    fn take_failure(&mut self, process: &Process, member: usize, completion: Completion) {
        let Some(failure) = completion.failure else { return };
        match process.look(|engine| engine.dead().contains(&self.members[member])) {
            true => self.machine.handle_death(member),
            false => self.doubt(member, failure_error(failure)),
        }
    }

    fn doubt(&mut self, member: usize, error: Error) {
        self.doubtful[member] = true;
        self.doubt.get_or_insert_with(|| (error, Instant::now()));
    }

    /// Looks whether those that are cut off have died; if it does not turn out in time, nothing is
    /// decided here.
    #[cold]
    fn resolve_doubt(&mut self, process: &Process, (error, since): (Error, Instant)) {
        process.note_deaths();
        let dead = process.look(|engine| engine.dead().to_vec());
        for member in 0..self.members.len() {
            if self.doubtful[member] && dead.contains(&self.members[member]) {
                self.doubtful[member] = false;
                self.machine.handle_death(member);
            }
        }
        if !self.doubtful.contains(&true) {
            self.doubt = None;
        } else if since.elapsed() >= NEWS_TIME_MAX && self.decision.0.set(Err(error)).is_ok() {
            process.notify();
        }
    }

    /// Takes what has come; returns whether there was anything.
    fn hear(&mut self, process: &Process) -> bool {
        let mut any = false;
        for member in 0..self.members.len() {
            let Some((id, _)) = &self.receives[member] else { continue };
            let id = *id;
            let Some(completion) = process.look(|engine| engine.take(id)) else { continue };
            any = true;
            let (_, memory) = self.receives[member].take().expect("looked at just now");
            self.take(process, member, completion, &memory);
            self.expect(process, member);
        }
        any
    }

    /// Sends what is to be sent; returns whether there was anything.
    fn say(&mut self, process: &Process) -> bool {
        let mut any = false;
        while let Some((to, message)) = self.machine.poll_message() {
            any = true;
            let bytes = message.encode();
            let memory = Owned::zeroed(bytes.len());
            memory.lend().write(0, &bytes);
            let send = SendRequest {
                peer: self.members[to],
                context: self.context,
                source: self.me as i32,
                tag: self.tag,
                buffer: Buffer::Contiguous(memory.lend()),
                mark: Mark::NONE,
                mode: Mode::Standard,
            };
            match process.start_send(0, send) {
                Ok(None) => {}
                Ok(Some(id)) => self.sends.push((to, id, memory)),
                Err(completion) => self.take_failure(process, to, *completion),
            }
        }
        any
    }

    /// Forgets the sends that have ended.
    fn end_sends(&mut self, process: &Process) {
        let mut failed = Vec::new();
        self.sends.retain(|(to, id, _)| match process.look(|engine| engine.take(*id)) {
            None => true,
            Some(completion) => {
                failed.extend(completion.failure.is_some().then_some((*to, completion)));
                false
            }
        });
        failed.into_iter().for_each(|(to, completion)| self.take_failure(process, to, completion));
    }
}

impl Task for Running {
    fn advance(&mut self, process: &Process) -> Result<bool> {
        self.end_sends(process);
        if let Some(doubt) = self.doubt.clone() {
            self.resolve_doubt(process, doubt);
        }
        while self.say(process) | self.hear(process) {}
        if let Some(decision) = self.machine.decision()
            && self.decision.0.get().is_none()
        {
            let _ = self.decision.0.set(Ok(decision.clone()));
            process.notify();
        }
        let mut members = 0..self.members.len();
        let waits = members.any(|member| self.machine.awaits(member) && !self.doubtful[member]);
        Ok(self.machine.decision().is_some() && !waits && self.sends.is_empty())
    }
}

#[cold]
fn nonsense(peer: Peer) -> Error {
    Error::new(
        MPI_ERR_INTERN,
        "a message of an agreement makes no sense",
        format!("from process {peer} of the job"),
        "it is another version of the library, or its memory is damaged",
        "use the same version everywhere; if it is, report a defect",
    )
}
