//! Windows of messages in flight, started and completed within one method, so that no request
//! outlives its buffer's borrow.

use super::{Communicator, Handle, Handles, Requests, World, check};
use crate::buffer::Buffer;
use anyhow::Result;
use std::ffi::c_int;

/// A message of a window whose messages differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The other rank.
    pub peer: i32,
    /// The length of the message.
    pub bytes: usize,
    /// The tag by which it is matched.
    pub tag: i32,
}

/// The place where one thread starts its windows of messages: a communicator, a tag, and room for
/// requests.
pub struct Window<'w> {
    world: &'w World,
    comm: Handle,
    tag: c_int,
    requests: Requests,
}

/// `bytes` may not exceed the buffer's length; `peer` is a rank. Both sides use the same tag.
impl<'w> Window<'w> {
    /// Windows whose messages carry this tag.
    pub fn new(world: &'w World, tag: i32) -> Window<'w> {
        let (comm, requests) = (world.handles.world, Requests::new(world.handles.request_bytes));
        Window { world, comm, tag, requests }
    }

    /// Windows on another communicator than `MPI_COMM_WORLD`.
    pub fn on(world: &'w World, comm: &Communicator<'w>) -> Window<'w> {
        Window { comm: comm.handle, ..Window::new(world, 0) }
    }

    /// `messages` times `MPI_Isend` of the same bytes, then `MPI_Waitall`.
    pub fn send(&mut self, buffer: &Buffer, bytes: usize, messages: usize, peer: i32) -> Result<()> {
        self.start_sends(buffer, bytes, messages, peer)?;
        self.wait_all()
    }

    /// `messages` times `MPI_Irecv` into the same bytes, then `MPI_Waitall`. All messages of a
    /// window carry the same bytes.
    pub fn receive(&mut self, buffer: &Buffer, bytes: usize, messages: usize, peer: i32) -> Result<()> {
        self.start_recvs(buffer, bytes, messages, peer)?;
        self.wait_all()
    }

    /// Receives one message as [`Window::receive`] does, with work between start and wait.
    pub fn receive_beside(
        &mut self,
        buffer: &Buffer,
        bytes: usize,
        peer: i32,
        work: &mut dyn FnMut(),
    ) -> Result<()> {
        self.start_recvs(buffer, bytes, 1, peer)?;
        work();
        self.wait_all()
    }

    /// A window in both directions at once: receives, then sends, then one `MPI_Waitall`.
    pub fn exchange(
        &mut self,
        from: &Buffer,
        to: &Buffer,
        bytes: usize,
        messages: usize,
        peer: i32,
    ) -> Result<()> {
        self.start_recvs(to, bytes, messages, peer)?;
        self.start_sends(from, bytes, messages, peer)?;
        self.wait_all()
    }

    /// Sends one message there while another comes from elsewhere, then calls `MPI_Waitall`.
    pub fn shift(&mut self, from: &Buffer, to: &Buffer, there: Message, here: Message) -> Result<()> {
        self.start_recv(to, here)?;
        self.start_send(from, there)?;
        self.wait_all()
    }

    fn start_sends(&mut self, buffer: &Buffer, bytes: usize, messages: usize, peer: i32) -> Result<()> {
        let message = Message { peer, bytes, tag: self.tag };
        (0..messages).try_for_each(|_| self.start_send(buffer, message))
    }

    fn start_recvs(&mut self, buffer: &Buffer, bytes: usize, messages: usize, peer: i32) -> Result<()> {
        let message = Message { peer, bytes, tag: self.tag };
        (0..messages).try_for_each(|_| self.start_recv(buffer, message))
    }

    #[inline]
    fn start_send(&mut self, buffer: &Buffer, message: Message) -> Result<()> {
        let Message { peer, bytes, tag } = message;
        let count = buffer.count(bytes, 1);
        let (calls, comm, Handles { byte, .. }) = (&self.world.calls, self.comm, self.world.handles);
        let request = self.requests.place();
        // SAFETY: every caller waits for the request before it returns, and borrows the buffer
        // until then.
        let code = unsafe { (calls.isend)(buffer.address(), count, byte, peer, tag, comm, request) };
        check(code, "MPI_Isend")?;
        self.requests.add();
        Ok(())
    }

    #[inline]
    fn start_recv(&mut self, buffer: &Buffer, message: Message) -> Result<()> {
        let Message { peer, bytes, tag } = message;
        let count = buffer.count(bytes, 1);
        let (calls, comm, Handles { byte, .. }) = (&self.world.calls, self.comm, self.world.handles);
        let request = self.requests.place();
        // SAFETY: as for the sends; Rust never looks at the bytes while a receive is pending.
        let code = unsafe { (calls.irecv)(buffer.address(), count, byte, peer, tag, comm, request) };
        check(code, "MPI_Irecv")?;
        self.requests.add();
        Ok(())
    }

    fn wait_all(&mut self) -> Result<()> {
        let ((count, first), ignore) = (self.requests.take(), self.world.handles.ignored());
        // SAFETY: the array holds exactly the requests just started; the statuses are ignored.
        let code = unsafe { (self.world.calls.waitall)(count, first, ignore) };
        check(code, "MPI_Waitall")
    }
}
