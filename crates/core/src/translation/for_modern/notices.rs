//! Notifications of legacy servers, as parts of a subscription.

use super::super::json;
use switchboard_protocol::modern::SUBSCRIPTION_ID;
use switchboard_protocol::{Message, Outgoing, Part, Patch, RawId, Span};

/// The notification with the id of a subscription.
pub(crate) fn on_subscription(notice: &Message, id: &RawId) -> Option<Message> {
    let member = format!(r#""{SUBSCRIPTION_ID}":{id}"#);
    let is_object = |part: Part| notice.part(part).is_some_and(|it| it.first() == Some(&b'{'));
    let mut out = Outgoing::of(notice);
    if is_object(Part::Meta) {
        json::insert(notice, Part::Meta, member.as_bytes(), &mut out);
    } else if is_object(Part::Params) && !notice.has(Part::Meta) {
        json::insert(notice, Part::Params, format!(r#""_meta":{{{member}}}"#).as_bytes(), &mut out);
    } else if !notice.has(Part::Params) {
        let params = format!(r#","params":{{"_meta":{{{member}}}}}"#);
        let end = notice.bytes().iter().rposition(|b| *b == b'}').unwrap_or_default();
        out.replace(Span::new(end, end), Patch::Text(params.into()));
    }
    crate::messages::own_message(out.to_vec().into())
}
