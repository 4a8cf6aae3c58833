//! The launcher's name service, which PMI-1 and our extension have alike (MPI-5.0, 11.9.4).

use crate::card;
use crate::error::BootError;
use crate::link::Link;
use crate::wire::Message;

/// Tells the launcher the port of a service; `false` if it does not take it.
pub(super) fn publish(link: &mut Link, service: &str, port: &str) -> Result<bool, BootError> {
    let message = named("publish_name", service).with("port", port);
    Ok(asked(link, &message, "publish_result")?.is_some())
}

/// Takes that back; `false` if the launcher does not know the service.
pub(super) fn unpublish(link: &mut Link, service: &str) -> Result<bool, BootError> {
    Ok(asked(link, &named("unpublish_name", service), "unpublish_result")?.is_some())
}

/// The port of a service, if the launcher knows it.
pub(super) fn lookup(link: &mut Link, service: &str) -> Result<Option<String>, BootError> {
    let answer = asked(link, &named("lookup_name", service), "lookup_result")?;
    Ok(answer.and_then(|answer| answer.get("port").map(str::to_owned)).filter(|port| !port.is_empty()))
}

/// A command with the service's name as a word without spaces.
fn named(command: &str, service: &str) -> Message {
    Message::new(command).with("service", card::encode(service.as_bytes()))
}

/// Asks; the answer, if it is not a refusal.
fn asked(link: &mut Link, message: &Message, answer: &str) -> Result<Option<Message>, BootError> {
    link.send(message)?;
    let got = link.answer(&message.cmd, answer)?;
    Ok((got.get("rc") == Some("0")).then_some(got))
}
