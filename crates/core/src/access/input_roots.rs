//! Folders in the `inputResponses` of a modern request: the answer to `roots/list`. Pure functions.

use crate::messages::{is_key, members};
use switchboard_protocol::{Message, Outgoing, Part, Patch, Span};

/// Replaces all roots that a client names in its `inputResponses`, asked or not, by these (a JSON array).
pub(crate) fn replace_roots(request: &Message, roots: &str, out: &mut Outgoing) {
    let Some(params) = request.part(Part::Params) else { return };
    let offset = request.span(Part::Params).range().start;
    let responses = members(params).into_iter().filter(|(key, _)| is_key(key, "inputResponses"));
    let responses = responses.flat_map(|(_, responses)| members(responses));
    let parts = responses.flat_map(|(_, response)| members(response));
    for (_, value) in parts.filter(|(key, _)| is_key(key, "roots")) {
        // A part of the params, so its address gives the position.
        let start = value.as_ptr() as usize - params.as_ptr() as usize + offset;
        out.replace(Span::new(start, start + value.len()), Patch::Text(roots.to_owned().into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::own_message;

    #[test]
    fn every_spelling_of_roots_is_replaced() {
        let text = r#"{"id":1,"method":"tools/call","params":{"roots":1,"inputResponses":{"a":{"roots":[{"uri":"file:///x"}],"ROOTS" : [2]},"b":{"r\u006fots":{},"action":"accept"},"c":[{"roots":[3]}]},"name":"t"}}"#;
        let message = own_message(text.into()).unwrap();
        let mut out = Outgoing::of(&message);
        replace_roots(&message, "[0]", &mut out);
        let expected = r#"{"id":1,"method":"tools/call","params":{"roots":1,"inputResponses":{"a":{"roots":[0],"ROOTS" : [0]},"b":{"r\u006fots":[0],"action":"accept"},"c":[{"roots":[3]}]},"name":"t"}}"#;
        assert_eq!(String::from_utf8_lossy(&out.to_vec()), expected);
    }
}
