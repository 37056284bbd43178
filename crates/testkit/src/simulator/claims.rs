//! What an outgoing message says about itself, compared with its bytes.

use super::ledger::Check;
use switchboard_protocol::{Message, Outgoing, OutgoingKind};

/// Fails unless kind, method and id are those of the message that the bytes are.
pub(crate) fn check_claims(out: &Outgoing, message: &Message) -> Check {
    let kind: OutgoingKind = message.kind().into();
    let id = message.id();
    let expect = (kind, message.method(), id.as_ref().map(|id| id.as_bytes()));
    let claimed = (out.kind(), out.method(), out.id());
    if claimed == expect { Ok(()) } else { Err(format!("a message says {claimed:?}, and is {expect:?}")) }
}
