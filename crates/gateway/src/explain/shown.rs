//! The explanation as text: a few short lines.

use super::{Explained, RouteExplanation, Rung};
use std::fmt;

/// Usual width of a terminal.
const LINE_CHARS: usize = 80;
/// Column of the values.
const LABEL_CHARS: usize = 11;
const RUNG_CHARS: usize = 18;

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, answer) in self.answers.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            line(f, "Request", &self.method)?;
            write!(f, "{answer}")?;
        }
        Ok(())
    }
}

impl fmt::Display for RouteExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.servers.as_slice() {
            [] => line(f, "Server", "any that runs once per workspace (there is no config file)")?,
            [server] => line(f, "Server", server)?,
            servers => line(f, "Servers", &servers.join(", "))?,
        }
        if !self.servers.is_empty() {
            line(f, "Instances", self.instances)?;
        }
        if let (Some(scope), Some(reason)) = (self.scope, &self.scope_reason) {
            line(f, "Scope", &format!("{scope}: {reason}"))?;
        }
        line(f, "Workspace", self.root.as_deref().unwrap_or("none"))?;
        line(f, "Because", &self.why)?;
        match (&self.root, &self.error) {
            (_, Some(error)) => {
                line(f, "Answer", &format!("error {} ({})", error.code, error.kind))?;
                line(f, "Hint", error.hint)?;
            }
            (None, None) => line(f, "Answer", "from an instance without a workspace")?,
            (Some(_), None) => {}
        }
        if self.considered.is_empty() {
            return Ok(());
        }
        writeln!(f, "\nConsidered, in this order:")?;
        let mut last = "";
        for rung in &self.considered {
            let name = if rung.rung == last { "" } else { named(rung.rung) };
            last = rung.rung;
            write_rung(f, name, rung)?;
        }
        Ok(())
    }
}

fn named(rung: &'static str) -> &'static str {
    match rung {
        "client" => "client's roots",
        "workingFolder" => "working folder",
        "given" => "first --root",
        other => other,
    }
}

fn write_rung(f: &mut fmt::Formatter<'_>, name: &str, rung: &Rung) -> fmt::Result {
    let mark = if rung.used { "->" } else { "" };
    write!(f, "{mark:>3} {name:<RUNG_CHARS$}")?;
    if let Some(by) = &rung.named_by {
        write!(f, "{by}: ")?;
    }
    writeln!(f, "{}", rung.value.as_deref().unwrap_or("-"))?;
    match rung.note {
        Some(note) => writeln!(f, "{:width$}({note})", "", width = RUNG_CHARS + 4),
        None => Ok(()),
    }
}

/// Writes a label and a text, wrapped between words.
fn line(f: &mut fmt::Formatter<'_>, label: &str, text: &str) -> fmt::Result {
    write!(f, "{label:<LABEL_CHARS$}")?;
    let mut used = LABEL_CHARS;
    for (index, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if index > 0 && used + 1 + length > LINE_CHARS {
            write!(f, "\n{:LABEL_CHARS$}", "")?;
            used = LABEL_CHARS;
        } else if index > 0 {
            write!(f, " ")?;
            used += 1;
        }
        write!(f, "{word}")?;
        used += length;
    }
    writeln!(f)
}
