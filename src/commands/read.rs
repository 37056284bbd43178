//! `switchboard read`: prints a resource. Binary content is written as it is, except to a terminal.

use super::client::{Failure, with_gateway};
use super::{base64, complain, content};
use crate::cli::ReadArgs;
use crate::exit::Exit;
use crate::terminal::{self, Stream};
use serde_json::Value;

pub(crate) fn run(args: &ReadArgs) -> anyhow::Result<Exit> {
    with_gateway(&args.output.gateway, None, async |client| {
        let uri = Value::from(args.uri.as_str());
        let token = client.next_id();
        let params = format!(r#"{{"uri":{uri},"_meta":{{"progressToken":{token}}}}}"#);
        let raw = match client.ask("resources/read", &params).await {
            Err(Failure::Refused(fault)) => {
                return Err(client.explained(fault, ("resources/list", "resources", "uri"), &args.uri).await);
            }
            other => other?,
        };
        if args.output.json {
            super::print(&format!("{raw}\n"))?;
            return Ok(Exit::Ok);
        }
        let result: Value = serde_json::from_str(raw.get()).map_err(|_| Failure::Odd("resources/read"))?;
        for part in result["contents"].as_array().into_iter().flatten() {
            show(part)?;
        }
        Ok(Exit::Ok)
    })
}

fn show(part: &Value) -> std::io::Result<()> {
    if let Some(text) = part["text"].as_str() {
        return super::print(&content::lines(text));
    }
    match part["blob"].as_str().and_then(base64::decode) {
        Some(bytes) if !terminal::is_one(Stream::Out) => super::print_bytes(&bytes),
        Some(_) => {
            complain("hint: redirect the output to get the raw bytes");
            super::print(&content::resource(part))
        }
        None => super::print(&content::resource(part)),
    }
}
