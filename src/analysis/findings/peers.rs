//! Who is at the other end of a connection that the program waits for.

use super::extent::Processes;
use crate::analysis::{Account, Step, What};
use std::net::SocketAddr;

/// The port of name servers (RFC 1035, section 4.2).
const NAME_SERVER: u16 = 53;

/// Where the C library finds the addresses of name servers.
const NAMES_SERVERS: &str = "/etc/resolv.conf";

/// The address of the network that is among the arguments of a call.
pub(super) fn internet(text: &str) -> Option<SocketAddr> {
    text.split([' ', '}']).find_map(|word| word.parse().ok())
}

/// Whether a call polls a connection that is not accepted yet.
pub(super) fn is_connecting(account: &Account, polling: &Step) -> bool {
    let connects = |step: &Step| match &*step.what {
        What::Call { name, text, .. } => &**name == "connect" && text.ends_with(" EINPROGRESS"),
        _ => false,
    };
    last_use(account, polling).is_some_and(connects)
}

/// What is at the other end of the socket on which a call waits, or which it polls first, in words; `None`: it waits for
/// something else.
pub(super) fn peer(account: &Account, call: &Step) -> Option<String> {
    let address = own_peer(call).or_else(|| own_peer(last_use(account, call)?))?;
    if address.port() != NAME_SERVER {
        return Some(format!("`{address}`"));
    }
    let names_it = account.files.iter().any(|file| &*file.path == NAMES_SERVERS && file.opened > 0);
    let source = if names_it { format!(", which `{NAMES_SERVERS}` names") } else { String::new() };
    Some(format!("the name server `{address}`{source}"))
}

/// The address of the socket, or the one to which the call connects it.
fn own_peer(call: &Step) -> Option<SocketAddr> {
    match &*call.what {
        What::Call { name, text, .. } if &**name == "connect" => internet(text),
        What::Call { file: Some(file), .. } => file.parse().ok(),
        _ => None,
    }
}

/// The call before that last used the first descriptor which this one polls.
fn last_use<'s>(account: &'s Account, polling: &Step) -> Option<&'s Step> {
    let What::Call { text, .. } = &*polling.what else { return None };
    let (descriptor, _) = text.split_once("{fd=")?.1.split_once(',')?;
    let argument = format!("({descriptor}<");
    let processes = Processes::of(account);
    let pid = processes.at(polling.start);
    let uses = |step: &&Step| match &*step.what {
        What::Call { text, .. } => text.contains(&argument) && processes.at(step.start) == pid,
        _ => false,
    };
    let before = account.steps.partition_point(|step| step.start < polling.start);
    account.steps[..before].iter().rfind(uses)
}
