//! Interpreter for the batch files (shims) that npm, pnpm, yarn, corepack and Node's installer put in front of a script. It
//! finds the program and the arguments that the file would run. Without a `cmd.exe` in between, the server is our own
//! child, and no argument is parsed twice. Pure: the caller provides files and variables.
//!
//! It executes the few statements that such files use. If it meets any other statement, `cmd.exe` runs the file.

#[path = "batch/line.rs"]
mod line;
#[path = "batch/expand.rs"]
mod expand;

use super::unwrap;
pub(super) use line::words;
use line::{Condition, Statement};

/// Program, first arguments and variables that a batch file adds to its caller's.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::child) struct Shim {
    /// A path, or a name to be searched in PATH.
    pub(in crate::child) program: String,
    pub(in crate::child) args: Vec<String>,
    /// An empty value removes a variable.
    pub(in crate::child) env: Vec<(String, String)>,
}

/// The parts of the machine that a batch file reads.
pub(in crate::child) struct World<'a> {
    /// The folder of the batch file, without a separator at the end.
    pub(in crate::child) folder: &'a str,
    pub(in crate::child) is_file: &'a dyn Fn(&str) -> bool,
    /// A variable of the server's environment.
    pub(in crate::child) variable: &'a dyn Fn(&str) -> Option<String>,
    /// The folder of npm's global packages: what `npm prefix -g` would print.
    pub(in crate::child) npm_prefix: Option<&'a str>,
}

/// Limit on executed lines. Shims have about 30 and no loops.
const MAX_STEPS: usize = 500;

/// Interprets a batch file; `None` if it is not a shim.
pub(in crate::child) fn read(text: &str, world: &World<'_>) -> Option<Shim> {
    let lines: Vec<&str> = text.lines().collect();
    let mut run = Run { world, set: Vec::new(), found: None };
    // For each open parenthesis, whether its statements are executed.
    let mut blocks: Vec<bool> = Vec::new();
    let (mut at, mut back_to) = (0, None);
    for _ in 0..MAX_STEPS {
        let Some(text) = lines.get(at) else { break };
        at += 1;
        let is_active = blocks.iter().all(|is_active| *is_active);
        match line::parse(text)? {
            Statement::Nothing => {}
            Statement::EndOfBlock => {
                blocks.pop()?;
            }
            Statement::Else => {
                let is_active = blocks.last_mut()?;
                *is_active = !*is_active;
            }
            Statement::If(condition) => {
                let holds = is_active && run.holds(&condition)?;
                blocks.push(holds);
            }
            Statement::ForNpmPrefix => blocks.push(world.npm_prefix.is_some()),
            // The branch that is not taken: parsed, but not executed.
            _ if !is_active => {}
            Statement::Goto(label) => at = find(&lines, label)?,
            Statement::Call(label) => {
                back_to = Some(at);
                at = find(&lines, label)?;
            }
            Statement::Return => match back_to.take() {
                Some(line) => at = line,
                None => break,
            },
            Statement::Set(name, value) => run.set(name, value)?,
            Statement::Run { command, ends_local } => run.run(command, ends_local)?,
        }
    }
    // An unclosed parenthesis is an error, which `cmd.exe` reports better.
    run.found.filter(|_| blocks.is_empty())
}

fn find(lines: &[&str], label: &str) -> Option<usize> {
    lines
        .iter()
        .position(|line| line.trim().strip_prefix(':').is_some_and(|name| name.eq_ignore_ascii_case(label)))
}

struct Run<'a> {
    world: &'a World<'a>,
    set: Vec<(String, String)>,
    found: Option<Shim>,
}

impl Run<'_> {
    fn expand(&self, text: &str) -> Option<String> {
        let own = |name: &str| self.set.iter().rev().find(|(known, _)| known.eq_ignore_ascii_case(name));
        expand::expand(text, self.world.folder, self.world.npm_prefix, &|name| match own(name) {
            Some((_, value)) => Some(value.clone()),
            None => (self.world.variable)(name),
        })
    }

    fn holds(&self, condition: &Condition<'_>) -> Option<bool> {
        let (holds, wanted) = match condition {
            Condition::Exists { path, wanted } => {
                ((self.world.is_file)(&normal(&self.expand(path)?)), *wanted)
            }
            Condition::Defined { name, wanted } => (!self.expand(&format!("%{name}%"))?.is_empty(), *wanted),
        };
        Some(holds == wanted)
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        // No statement with an effect may follow the program.
        let value = self.expand(value).filter(|_| self.found.is_none())?;
        self.set.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.set.push((name.to_owned(), value));
        Some(())
    }

    fn run(&mut self, command: &str, ends_local: bool) -> Option<()> {
        if self.found.is_some() {
            return None;
        }
        let words = words(&self.expand(command)?)?;
        let (program, args) = words.split_first().filter(|(program, _)| !unwrap::is_built_in(program))?;
        // With `endlocal`, the file's variables do not reach the program.
        let mut env = if ends_local { Vec::new() } else { std::mem::take(&mut self.set) };
        // Removing a variable that does not exist has no effect.
        env.retain(|(name, value)| !value.is_empty() || (self.world.variable)(name).is_some());
        let args = args.iter().map(|arg| if is_path(arg) { normal(arg) } else { arg.clone() }).collect();
        self.found = Some(Shim { program: normal(program), args, env });
        Some(())
    }
}

fn is_path(word: &str) -> bool {
    let bytes = word.as_bytes();
    word.starts_with(r"\\") || (bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && &bytes[1..3] == br":\")
}

/// Removes doubled separators: `%~dp0` ends with one, and files add another.
fn normal(path: &str) -> String {
    let start = if path.starts_with(r"\\") { 1 } else { 0 };
    let mut plain = path[..start].to_owned();
    for char in path[start..].chars() {
        if char != '\\' || !plain.ends_with('\\') || plain.len() == start {
            plain.push(char);
        }
    }
    plain
}

#[cfg(test)]
#[path = "batch/tests.rs"]
mod tests;
