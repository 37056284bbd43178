//! Claims of an outgoing message about itself, compared with its bytes.

use switchboard_protocol::{Kind, Message, Outgoing, OutgoingKind, Parsed, parse};

/// Fails unless kind, method and id are those of the bytes.
pub(crate) fn check_claims(out: &Outgoing) {
    let shown = String::from_utf8_lossy(&out.to_vec()).into_owned();
    match parse(out.to_vec().into()) {
        Ok(Parsed::One(message)) => {
            let kind: OutgoingKind = message.kind().into();
            let id = message.id();
            let expect = (kind, message.method(), id.as_ref().map(|id| id.as_bytes()));
            assert_eq!((out.kind(), out.method(), out.id()), expect, "{shown}");
        }
        Ok(Parsed::Batch(members)) => {
            assert_eq!(out.kind(), OutgoingKind::BatchResponse, "{shown}");
            let has_id = |message: &Message| message.id().is_some_and(|id| Some(id.as_bytes()) == out.id());
            let mut responses = members.iter().flatten();
            assert!(
                responses.clone().all(|member| matches!(member.kind(), Kind::Response { .. })),
                "{shown}"
            );
            assert!(responses.any(has_id), "{shown}");
        }
        Err(broken) => panic!("{shown}: {:?}", broken.fault),
    }
}
