//! `switchboard token list`: names, rights and times; never hashes or tokens.

use super::{failed, file, words};
use crate::commands::{complain, print};
use crate::exit::Exit;
use crate::terminal::{self, Stream, one_line, wrap_at};
use serde_json::{Value, json};
use std::time::SystemTime;
use switchboard_gateway::tokens::{TokenEntry, spelling};

/// Longer names do not widen the column.
const MAX_NAME_CHARS: usize = 24;
const COLUMN_GAP: usize = 2;
/// Width of lines where there is no terminal.
const DEFAULT_WIDTH: usize = 100;

pub(super) fn run(json: bool) -> anyhow::Result<Exit> {
    let tokens = file().list().map_err(|error| failed(&error))?;
    let now = SystemTime::now();
    if json {
        let list: Vec<Value> = tokens.iter().map(|token| in_json(token, now)).collect();
        print(&format!("{:#}\n", Value::from(list)))?;
        return Ok(Exit::Ok);
    }
    if tokens.is_empty() {
        complain("No tokens but the owner's. `switchboard token create NAME` makes one.");
    }
    print(&shown(&tokens, now, terminal::width(Stream::Out).unwrap_or(DEFAULT_WIDTH)))?;
    Ok(Exit::Ok)
}

/// A name, and beside it two paragraphs: what the token allows, and its times.
fn shown(tokens: &[TokenEntry], now: SystemTime, width: usize) -> String {
    let names = tokens.iter().map(|token| token.name.chars().count());
    let column = names.filter(|length| *length <= MAX_NAME_CHARS).max().unwrap_or_default() + COLUMN_GAP;
    let row = |token: &TokenEntry| {
        let texts = [words::rights(token), words::times(token, now)];
        let lines = texts.map(|text| wrap_at(&one_line(&text), width, column)).join("\n");
        let name = one_line(&token.name);
        match name.chars().count() < column {
            // The first line is indented, and the name takes the place of its blanks.
            true => format!("{name}{}\n", &lines[name.len()..]),
            false => format!("{name}\n{lines}\n"),
        }
    };
    tokens.iter().map(row).collect()
}

fn in_json(token: &TokenEntry, now: SystemTime) -> Value {
    json!({
        "name": token.name,
        "rights": token.rights,
        "profile": token.profile,
        "rate": token.rate(),
        "burst": token.burst,
        "concurrent": token.concurrent,
        "created": spelling::moment(token.created()),
        "expires": token.expires().map(spelling::moment),
        "isExpired": token.is_expired(now),
    })
}
