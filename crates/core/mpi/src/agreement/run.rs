//! The protocol over the messages of the engine, as a task.
//!
//! The task outlives the agreement: it ends when the last member has told its decision, so that no
//! message of it is left over.

use super::machine::{Machine, Message};
use super::value::Value;
use crate::active::Pending;
use crate::comm::{Comm, Traffic};
use crate::error::Result;
use crate::process::Process;
use crate::request::{Active, Outcome};
use crate::task::Task;
use std::sync::{Arc, OnceLock};
use verbena_channel::Peer;
use verbena_channel::mark::Mark;
use verbena_engine::{LASTING_TAG, Mode, Posted, ReceiveRequest, RequestId, SendRequest};
use verbena_memory::{Buffer, Owned};

/// The agreements of a communicator that have tags of their own.
const TAGS: u32 = 1 << 23;

/// An agreement that was started.
#[derive(Clone)]
pub struct Agreement(Arc<OnceLock<Value>>);

impl Agreement {
    /// The decision, once it is made.
    pub fn decision(&self) -> Option<&Value> {
        self.0.get()
    }

    /// Waits for the decision.
    pub fn wait(&self, process: &Process) -> Value {
        process.wait(|_| self.0.get().cloned())
    }

    /// An operation that ends with the agreement; `conclude` makes its outcome of the decision,
    /// once.
    pub fn then(self, conclude: impl FnOnce(&Value) -> Result<()> + Send + Sync + 'static) -> Active {
        let conclude = verbena_waiting::lock::Lock::new(Some(Box::new(conclude) as Conclude));
        Active::Far(Arc::new(Concluding { agreement: self, conclude, outcome: OnceLock::new() }))
    }
}

/// The use that is made of the decision.
type Conclude = Box<dyn FnOnce(&Value) -> Result<()> + Send + Sync>;

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
        tag: LASTING_TAG + (comm.next_agreement() % TAGS) as i32,
        receives: (0..size).map(|_| None).collect(),
        sends: Vec::new(),
        decision: decision.clone(),
    };
    (0..size).for_each(|member| running.expect(process, member));
    process.tasks().start(process, Box::new(running));
    decision
}

impl Running {
    /// Posts a receive for the next message of a member, if there may be one.
    fn expect(&mut self, process: &Process, member: usize) {
        while self.machine.awaits(member) {
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
                Posted::Done(completion) => {
                    self.take(member, completion.failure.is_some(), completion.bytes, &memory)
                }
            }
        }
    }

    /// Takes what a receive from a member has brought: a message, or the news that it failed.
    fn take(&mut self, member: usize, failed: bool, bytes: u64, memory: &Owned) {
        let bytes = memory.lend().to_vec().into_iter().take(bytes as usize).collect::<Vec<u8>>();
        match Message::decode(&bytes, self.members.len()).filter(|_| !failed) {
            Some(message) => self.machine.handle(member, message),
            None => self.machine.handle_death(member),
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
            self.take(member, completion.failure.is_some(), completion.bytes, &memory);
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
            match process.start_send(send) {
                Ok(None) => {}
                Ok(Some(id)) => self.sends.push((to, id, memory)),
                Err(_) => self.machine.handle_death(to),
            }
        }
        any
    }

    /// Forgets the sends that have ended.
    fn end_sends(&mut self, process: &Process) {
        let Running { sends, machine, .. } = self;
        sends.retain(|(to, id, _)| match process.look(|engine| engine.take(*id)) {
            None => true,
            Some(completion) => {
                if completion.failure.is_some() {
                    machine.handle_death(*to);
                }
                false
            }
        });
    }
}

impl Task for Running {
    fn advance(&mut self, process: &Process) -> Result<bool> {
        self.end_sends(process);
        while self.say(process) | self.hear(process) {}
        if let Some(decision) = self.machine.decision()
            && self.decision.0.get().is_none()
        {
            let _ = self.decision.0.set(decision.clone());
            process.notify();
        }
        Ok(self.machine.is_settled() && self.sends.is_empty())
    }
}
