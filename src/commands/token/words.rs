//! Rights and limits of a token, for people. Pure.

use std::time::SystemTime;
use switchboard_gateway::tokens::{RightsEntry, TokenEntry, spelling};

/// Rights and limits in one line: `servers files, github; tools read_*; 5/min`.
pub(super) fn rights(token: &TokenEntry) -> String {
    let RightsEntry { servers, tools, prompts, resources, methods } = &token.rights;
    let lists = [
        ("servers", servers),
        ("tools", tools),
        ("prompts", prompts),
        ("resources", resources),
        ("methods", methods),
    ];
    let lists = lists.into_iter().filter(|(_, patterns)| !patterns.is_empty());
    let mut parts: Vec<String> =
        lists.map(|(what, patterns)| format!("{what} {}", patterns.join(", "))).collect();
    parts.extend(token.profile.as_ref().map(|profile| format!("profile {profile}")));
    if parts.is_empty() {
        parts.push("everything".to_owned());
    }
    parts.extend(token.rate().map(|rate| match token.burst {
        Some(burst) => format!("{rate}, {burst} at once"),
        None => rate.to_owned(),
    }));
    parts.extend(token.concurrent.map(|calls| format!("{calls} concurrent")));
    parts.join("; ")
}

/// Times in one line.
pub(super) fn times(token: &TokenEntry, now: SystemTime) -> String {
    let created = spelling::minute(token.created());
    match token.expires() {
        None => format!("created {created} UTC, does not expire"),
        Some(at) if token.is_expired(now) => {
            format!("created {created}, expired {} UTC", spelling::minute(at))
        }
        Some(at) => format!("created {created}, expires {} UTC", spelling::minute(at)),
    }
}
