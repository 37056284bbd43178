//! `backend` and `soak-backend`: testkit's fake server, as fast as possible or with answers in any order.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use switchboard_testkit::fake::options::Era;
use switchboard_testkit::fake::{self, Fast, Options, Record};
use switchboard_testkit::wire::Payload;

/// Upper limit of a soak server's life, even if the soak itself fails.
const SOAK_LIFETIME: Duration = Duration::from_secs(2 * 60 * 60);

/// The tools, unless their number is given.
const TOOLS: &str = r#"{"tools":[{"name":"tiny","description":"Answers a fixed small text.","inputSchema":{"type":"object"}},{"name":"echo","description":"Answers its argument.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},{"name":"answer","description":"Answers so many bytes of text.","inputSchema":{"type":"object","properties":{"bytes":{"type":"integer"}},"required":["bytes"]}}]}"#;

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let mut options = Options { name: Some("switchboard-bench".to_owned()), ..Options::default() };
    let mut payload = Payload::Plain;
    let mut tools = TOOLS.to_owned();
    let mut rest = arguments.iter().map(|argument| argument.to_str().unwrap_or_default());
    while let Some(argument) = rest.next() {
        match argument {
            "--id-last" => options.id_last = true,
            "--modern" => options.era = Era::Modern,
            "--payload" => {
                payload = rest.next().and_then(Payload::named).ok_or("--payload is `plain` or `code`")?;
            }
            "--tools" => {
                let count = rest.next().and_then(|count| count.parse().ok());
                tools = many_tools(count.ok_or("--tools needs a number")?);
            }
            "--name" => options.name = Some(rest.next().ok_or("--name needs a name")?.to_owned()),
            other => return Err(format!("backend: unknown argument `{other}`")),
        }
    }
    let served = Fast::new(options, payload, tools).and_then(Fast::serve);
    served.map(|()| ExitCode::SUCCESS).map_err(|error| format!("backend: {error}"))
}

/// `soak-backend FILE`: its tool `later` appends the tag of each call to the file, which all its processes share.
pub(crate) fn soak(arguments: &[OsString]) -> Result<ExitCode, String> {
    let done = arguments.first().ok_or("soak-backend FILE")?.into();
    fake::exit_after(SOAK_LIFETIME);
    let options = Options { name: Some("soak".to_owned()), done: Some(done), ..Options::default() };
    let (launch, record) = Record::open(None);
    Ok(fake::serve(options, launch, record))
}

/// A list of tools of a realistic size. Only the first, `tiny`, can be called.
fn many_tools(count: usize) -> String {
    let tool = |number: usize| {
        let name = if number == 0 { "tiny".to_owned() } else { format!("find_documents_{number:04}") };
        format!(
            r#"{{"name":"{name}","description":"Finds the documents of collection {number} that a query fits, best first, with the passages that fit it. Use this when the user asks what is known about a subject; not for a document whose path is known already.","inputSchema":{{"type":"object","properties":{{"query":{{"type":"string","description":"What to look for, in plain words."}},"limit":{{"type":"integer","minimum":1,"maximum":100,"default":10,"description":"How many to return at most."}},"order":{{"type":"string","enum":["rank","newest","oldest"],"default":"rank"}}}},"required":["query"],"additionalProperties":false}}}}"#
        )
    };
    format!(r#"{{"tools":[{}]}}"#, (0..count).map(tool).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_tools_have_a_realistic_size() {
        let listed: serde_json::Value = serde_json::from_str(&many_tools(1_000)).unwrap();
        let tools = listed["tools"].as_array().unwrap();
        assert_eq!(tools.len(), 1_000);
        assert_eq!(tools[0]["name"], "tiny");
        for tool in tools {
            assert!((550..=700).contains(&tool.to_string().len()), "{} bytes", tool.to_string().len());
        }
    }
}
