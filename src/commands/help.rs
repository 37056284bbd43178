//! `switchboard help`: the general help, the help of a subcommand, or a page of the documentation. The pages
//! are in the binary, so that installed users have them.
//!
//! # Layout
//! - `markdown`: a page as plain text, as wide as a terminal.

mod markdown;

use crate::cli::Cli;
use crate::exit::{Exit, fatal};
use crate::terminal::{self, Stream};
use crate::topics::{TOPIC_NAMES, TOPICS, Topic};
use std::fmt::Write;
use switchboard_gateway::nearest_name;

/// Widest page; longer lines are hard to read.
const MAX_COLUMNS: usize = 100;
const MIN_COLUMNS: usize = 40;
const DEFAULT_COLUMNS: usize = 80;

pub(crate) fn run(words: &[String]) -> anyhow::Result<Exit> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let text = match words[..] {
        [] => Cli::with_overview().render_long_help().to_string(),
        ["topics"] => list(),
        _ => {
            let command = subcommand(&words);
            let topic = TOPICS.iter().find(|topic| words[..] == [topic.name]);
            match (command, topic) {
                (None, None) => return Err(fatal(Exit::Usage, unknown(&words))),
                // A name may be both, such as `daemon`.
                (command, topic) => {
                    let parts = [command, topic.map(page)];
                    parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
                }
            }
        }
    };
    super::print(&format!("{}\n", text.trim_end()))?;
    Ok(Exit::Ok)
}

/// Help of a subcommand, or of a subcommand of one, as `--help` prints it.
fn subcommand(words: &[&str]) -> Option<String> {
    let command = Cli::with_overview();
    let mut found = &command;
    for word in words {
        found = found.find_subcommand(word).filter(|found| !found.is_hide_set())?;
    }
    let line = ["switchboard"].iter().chain(words).chain(&["--help"]).copied();
    // clap renders the help as an error.
    let help = command.clone().try_get_matches_from(line).err()?;
    Some(help.render().to_string())
}

fn page(topic: &Topic) -> String {
    let width = terminal::width(Stream::Out).unwrap_or(DEFAULT_COLUMNS).clamp(MIN_COLUMNS, MAX_COLUMNS);
    markdown::plain(topic.page, width, TOPIC_NAMES, terminal::has_colours(Stream::Out))
}

fn list() -> String {
    let mut text = "Topics, for `switchboard help TOPIC`:\n".to_owned();
    for Topic { name, about, .. } in TOPICS {
        let _ = writeln!(text, "  {name:<10}  {about}");
    }
    text
}

fn unknown(words: &[&str]) -> String {
    let command = Cli::with_overview();
    let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
    let names = commands.map(|command| command.get_name()).chain(TOPIC_NAMES.iter().copied());
    let names: Vec<String> = names.map(str::to_owned).collect();
    let word = words.join(" ");
    let meant = nearest_name(&word, &names).map(|near| format!("did you mean `switchboard help {near}`? "));
    format!(
        "no subcommand or topic is called `{word}`\n  hint: {}`switchboard help topics` lists the topics",
        meant.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_fit_into_80_columns() {
        for topic in TOPICS {
            let text = markdown::plain(topic.page, DEFAULT_COLUMNS, TOPIC_NAMES, false);
            // Code and single words are not wrapped.
            let is_long = |line: &&str| line.chars().count() > DEFAULT_COLUMNS && line.trim().contains(' ');
            let long: Vec<&str> =
                text.lines().filter(is_long).filter(|line| !line.starts_with("    ")).collect();
            assert_eq!(long, Vec::<&str>::new(), "{}", topic.name);
        }
    }

    #[test]
    fn pages_are_free_of_markup() {
        for topic in TOPICS {
            let text = markdown::plain(topic.page, DEFAULT_COLUMNS, TOPIC_NAMES, false);
            for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with("    ")) {
                for mark in ["](", "**", "|--", "```"] {
                    assert!(!line.contains(mark), "{}:{number}: {line}", topic.name);
                }
            }
        }
    }
}
