//! `switchboard call`: calls a tool and prints its result.

use super::arguments::Arguments;
use super::client::{Client, Failure, with_gateway};
use super::{complain, content};
use crate::cli::CallArgs;
use crate::exit::Exit;
use serde_json::Value;
use serde_json::value::RawValue;

/// List that contains tools by name.
const LIST: (&str, &str, &str) = ("tools/list", "tools", "name");

pub(crate) fn run(args: &CallArgs) -> anyhow::Result<Exit> {
    let arguments = Arguments::read(&args.arguments)?;
    with_gateway(&args.output.gateway, None, async |client| {
        // Requested only where the types are in doubt.
        let schema = match arguments.is_doubtful() {
            true => schema(client, &args.name).await?,
            false => Value::Null,
        };
        let (name, arguments) = (Value::from(args.name.as_str()), arguments.object(&schema));
        // Read before `ask`, which gives this id to its request.
        let token = client.next_id();
        let params =
            format!(r#"{{"name":{name},"arguments":{arguments},"_meta":{{"progressToken":{token}}}}}"#);
        match client.ask("tools/call", &params).await {
            Ok(result) => shown(client, args, &result).await,
            Err(Failure::Refused(fault)) => Err(client.explained(fault, LIST, &args.name).await),
            Err(other) => Err(other),
        }
    })
}

/// Schema of the tool's arguments; null if there is no such tool, which the call will report.
async fn schema(client: &mut Client, name: &str) -> Result<Value, Failure> {
    let tools = client.list(LIST.0, LIST.1).await?;
    let mut tools = tools.iter().filter_map(|tool| serde_json::from_str::<Value>(tool.get()).ok());
    let tool = tools.find(|tool| tool["name"] == name).unwrap_or_default();
    Ok(tool["inputSchema"].clone())
}

async fn shown(client: &mut Client, args: &CallArgs, raw: &RawValue) -> Result<Exit, Failure> {
    let result: Value = serde_json::from_str(raw.get()).map_err(|_| Failure::Odd("tools/call"))?;
    let failed = result["isError"] == true;
    let exit = if failed { Exit::Failure } else { Exit::Ok };
    let mut text = content::shown(&result["content"]);
    // Structured content may be all that a server sends.
    if text.is_empty() && !result["structuredContent"].is_null() {
        text = format!("{:#}\n", result["structuredContent"]);
    }
    if args.output.json {
        super::print(&format!("{raw}\n"))?;
    } else if failed {
        // On stderr, so that scripts do not take it for a result.
        complain(text.trim_end());
    } else {
        super::print(&text)?;
    }
    // A server may answer a wrong name with `isError` instead of an error.
    if failed && let Some(hint) = client.meant(LIST, &args.name).await {
        complain(&format!("  hint: {hint}"));
    }
    Ok(exit)
}
