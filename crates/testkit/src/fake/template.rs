//! Texts that a test wants written to the byte: `%ID` is the id of the request, `%TOKEN` its progress
//! token, `%PID` this process, `%7F` the byte with this number, `%%` a percent sign.

pub(super) struct Blanks<'a> {
    pub(super) id: &'a str,
    pub(super) token: &'a str,
}

impl Blanks<'_> {
    pub(super) const NONE: Self = Self { id: "null", token: "null" };

    pub(super) fn fill(&self, template: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(template.len());
        let mut rest = template;
        while let Some(at) = rest.find('%') {
            out.extend_from_slice(&rest.as_bytes()[..at]);
            rest = &rest[at + 1..];
            let pid = std::process::id().to_string();
            let named = [("ID", self.id), ("TOKEN", self.token), ("PID", &pid), ("%", "%")];
            if let Some((name, value)) = named.iter().find(|(name, _)| rest.starts_with(name)) {
                out.extend_from_slice(value.as_bytes());
                rest = &rest[name.len()..];
            } else if let Some(byte) = rest.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                out.push(byte);
                rest = &rest[2..];
            } else {
                out.push(b'%');
            }
        }
        out.extend_from_slice(rest.as_bytes());
        out
    }
}
