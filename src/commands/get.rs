//! `switchboard get`: prints the messages of a prompt, each under its role.

use super::arguments::Arguments;
use super::client::{Failure, with_gateway};
use super::content;
use crate::cli::GetArgs;
use crate::exit::Exit;
use serde_json::Value;

pub(crate) fn run(args: &GetArgs) -> anyhow::Result<Exit> {
    let arguments = Arguments::read(&args.arguments)?.texts();
    with_gateway(&args.output.gateway, None, async |client| {
        let name = Value::from(args.name.as_str());
        let token = client.next_id();
        let params =
            format!(r#"{{"name":{name},"arguments":{arguments},"_meta":{{"progressToken":{token}}}}}"#);
        let raw = match client.ask("prompts/get", &params).await {
            Err(Failure::Refused(fault)) => {
                return Err(client.explained(fault, ("prompts/list", "prompts", "name"), &args.name).await);
            }
            other => other?,
        };
        if args.output.json {
            super::print(&format!("{raw}\n"))?;
            return Ok(Exit::Ok);
        }
        let result: Value = serde_json::from_str(raw.get()).map_err(|_| Failure::Odd("prompts/get"))?;
        for message in result["messages"].as_array().into_iter().flatten() {
            let role = message["role"].as_str().unwrap_or("?");
            super::print(&format!("{role}:\n{}", content::shown(&message["content"])))?;
        }
        Ok(Exit::Ok)
    })
}
