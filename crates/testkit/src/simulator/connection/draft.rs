//! A message in pieces: the author's version, and the version that the other side must get to the byte. It is put
//! together here and compared there, so that the comparison is independent of the code under test.

use crate::simulator::engine::Rng;
use switchboard_protocol::Dialect;

/// A piece of a message.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    Text(String),
    /// The id that is mapped: `id`, or the `requestId` or `progressToken` of a notification.
    Id,
    /// `params._meta.progressToken` of a request.
    Token,
    /// `"jsonrpc":"2.0"` with one comma.
    Version(&'static str),
}

#[derive(Debug, Clone)]
pub(super) struct Draft {
    pieces: Vec<Piece>,
    /// The author's own values for the variable pieces.
    id: String,
    token: String,
    /// Whether the author omits `jsonrpc`.
    is_bare: bool,
}

const MEMBER: &str = r#""jsonrpc":"2.0","#;
const IN_FRONT: [&str; 3] = [MEMBER, MEMBER, r#""jsonrpc" : "2.0" ,"#];
const BEHIND: [&str; 2] = [r#","jsonrpc":"2.0""#, r#", "jsonrpc": "2.0""#];

impl Draft {
    /// Puts the members into a random order, with `jsonrpc` among them.
    pub(super) fn compose(
        rng: &mut Rng,
        mut members: Vec<Vec<Piece>>,
        id: &str,
        token: Option<&str>,
        is_bare: bool,
    ) -> Self {
        rng.shuffle(&mut members);
        let version_at = rng.below(members.len() + 1);
        let comma = *rng.pick(&[",", ",", ",", " ,", ", "]);
        let mut pieces = vec![Piece::Text(rng.pick(&["{", "{", "{", "{ ", " {"]).to_string())];
        let last = members.len();
        for (at, member) in members.into_iter().enumerate() {
            if at > 0 {
                pieces.push(Piece::Text(comma.into()));
            }
            if at == version_at {
                let &version = rng.pick(&IN_FRONT);
                pieces.push(Piece::Version(version));
            }
            pieces.extend(member);
        }
        if version_at == last {
            let &version = rng.pick(&BEHIND);
            pieces.push(Piece::Version(version));
        }
        pieces.push(Piece::Text(rng.pick(&["}", "}", "}", " }"]).to_string()));
        Self { pieces, id: id.into(), token: token.unwrap_or_default().into(), is_bare }
    }

    /// The author's version.
    pub(super) fn written(&self) -> String {
        self.render(&self.id, &self.token, !self.is_bare)
    }

    /// The version for a peer with other ids that speaks `dialect`.
    pub(super) fn heard(&self, id: &str, token: &str, dialect: Dialect) -> String {
        let wants_version = dialect == Dialect::Standard;
        let mut text = self.render(id, token, wants_version && !self.is_bare);
        if wants_version && self.is_bare {
            let brace = text.find('{').map_or(0, |at| at + 1);
            text.insert_str(brace, MEMBER);
        }
        text
    }

    fn render(&self, id: &str, token: &str, with_version: bool) -> String {
        let parts = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.as_str(),
            Piece::Id => id,
            Piece::Token => token,
            Piece::Version(member) if with_version => member,
            Piece::Version(_) => "",
        });
        parts.collect()
    }
}

/// A member of a message, without variable pieces.
pub(super) fn member(key: &str, value: impl std::fmt::Display) -> Vec<Piece> {
    vec![Piece::Text(format!("\"{key}\":{value}"))]
}

/// A member whose value is variable.
pub(super) fn place(key: &str, place: Piece) -> Vec<Piece> {
    vec![Piece::Text(format!("\"{key}\":")), place]
}

/// `"key":{…}`, with these members in a random order.
pub(super) fn object(rng: &mut Rng, key: &str, mut members: Vec<Vec<Piece>>) -> Vec<Piece> {
    rng.shuffle(&mut members);
    let mut pieces = vec![Piece::Text(format!("\"{key}\":{{"))];
    for (at, member) in members.into_iter().enumerate() {
        if at > 0 {
            pieces.push(Piece::Text(rng.pick(&[",", " , "]).to_string()));
        }
        pieces.extend(member);
    }
    pieces.push(Piece::Text("}".into()));
    pieces
}

/// Members that a library might decode and write differently, with the number that identifies this message.
pub(super) fn payload(rng: &mut Rng, number: usize, longest: usize) -> Vec<Vec<Piece>> {
    const EXOTIC: &[&str] = &[
        r#""a":0.7000"#,
        r#""b":12345678901234567890123"#,
        r#""c":-0.0"#,
        r#""d":1E+30"#,
        r#""e":"\u00e9\ud83d\ude00 \"q\" \\ \/ é""#,
        r#""f":{ "id" : 1,"method":"x","jsonrpc":"1.0","id":2 }"#,
        r#""Name":"look-alike""#,
        r#""g":[ ]"#,
        r#""h":{"progressToken":9,"_meta":{"progressToken":"x"}}"#,
        r#""i":null"#,
        r#""":true"#,
        r#""j":"\"jsonrpc\":\"2.0\",""#,
    ];
    let mut members = vec![member("sim", number)];
    for _ in 0..rng.below(3) {
        members.push(vec![Piece::Text(rng.pick(EXOTIC).to_string())]);
    }
    if rng.percent(25) {
        let pad = "x".repeat(rng.below(longest));
        members.push(member("pad", format_args!("\"{pad}\"")));
    }
    members
}

/// The number of [`payload`] in an arrived message.
pub(super) fn number_in(bytes: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (_, rest) = text.split_once("\"sim\":")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

/// The `data.kind` of an error of our own.
pub(super) fn kind_in(bytes: &[u8]) -> Option<&str> {
    let (_, rest) = std::str::from_utf8(bytes).ok()?.split_once("\"kind\":\"")?;
    rest.split('"').next()
}

/// Equality to the byte, apart from white space around: a member of an array has none.
pub(super) fn is_same(expect: &str, got: &[u8]) -> bool {
    expect.as_bytes().trim_ascii() == got.trim_ascii()
}
