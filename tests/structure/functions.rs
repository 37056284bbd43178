//! Functions of a source file, with their lengths and their deepest nesting. Reads braces, not syntax: a brace counts as a
//! level if it opens a block of code, not if it belongs to a struct, a pattern or an import.

/// One function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) lines: usize,
    /// Levels of blocks; a body without blocks has one.
    pub(super) nesting: usize,
}

/// Meaning of an opening brace.
#[derive(Debug, PartialEq, Eq)]
enum Brace {
    Body(String),
    Block,
    /// A struct, pattern, import, item or macro argument.
    Other,
}

/// All functions of a text, in the order of their ends.
pub(super) fn functions(text: &str) -> Vec<Function> {
    let mut scan = Scan::default();
    for c in without_texts(text).chars() {
        match c {
            '{' => scan.opens(),
            '}' => scan.closes(),
            ';' => scan.head.clear(),
            '\n' => {
                scan.line += 1;
                scan.head.push(' ');
            }
            _ => scan.head.push(c),
        }
    }
    scan.done
}

/// Progress through a text.
#[derive(Default)]
struct Scan {
    line: usize,
    /// Code since the last brace or semicolon.
    head: String,
    /// Open braces, each with the code before it.
    braces: Vec<(Brace, String)>,
    /// Functions around the current position, each with its first line and the current level.
    open: Vec<(Function, usize, usize)>,
    done: Vec<Function>,
}

impl Scan {
    fn opens(&mut self) {
        let brace = brace_after(&self.head);
        match (&brace, self.open.last_mut()) {
            (Brace::Body(name), _) => {
                self.open.push((Function { name: name.clone(), lines: 0, nesting: 1 }, self.line, 1));
            }
            (Brace::Block, Some((function, _, level))) => {
                *level += 1;
                function.nesting = function.nesting.max(*level);
            }
            (Brace::Block, None) | (Brace::Other, _) => {}
        }
        self.braces.push((brace, std::mem::take(&mut self.head)));
    }

    fn closes(&mut self) {
        let (brace, before) = self.braces.pop().unzip();
        self.head.clear();
        match (brace, self.open.last_mut()) {
            (Some(Brace::Body(_)), _) => {
                let lines = |first: usize| self.line - first + 1;
                let ended = self.open.pop();
                self.done
                    .extend(ended.map(|(function, first, _)| Function { lines: lines(first), ..function }));
            }
            (Some(Brace::Block), Some((_, _, level))) => *level -= 1,
            // Code such as `if let Some { value } =` continues.
            (Some(Brace::Other), _) => self.head = before.unwrap_or_default() + "()",
            (Some(Brace::Block), None) | (None, _) => {}
        }
    }
}

/// Meaning of a brace, from the code between the last brace or semicolon and it.
fn brace_after(head: &str) -> Brace {
    // Of a match arm, only the part after the arrow counts.
    let head = head.trim_end();
    let head = head.rsplit_once("=> ").map_or(head, |(_, after)| after);
    let words: Vec<&str> = head.split(|c: char| !is_word(c)).filter(|word| !word.is_empty()).collect();
    if let Some(at) = words.iter().position(|word| *word == "fn")
        && let Some(name) = words.get(at + 1).filter(|name| head.contains(&format!("fn {name}")))
    {
        return Brace::Body((*name).to_owned());
    }
    let last = words.last().copied().filter(|word| head.ends_with(word));
    let is_type = last.is_some_and(|word| {
        word.starts_with(char::is_uppercase) && (word == "Self" || word.contains(char::is_lowercase))
    });
    let keyword = words.iter().rposition(|word| matches!(*word, "if" | "while" | "match" | "for"));
    let after = keyword.and_then(|at| head.rfind(words[at]).map(|from| &head[from + words[at].len()..]));
    match (keyword.map(|at| words[at]), after) {
        // A pattern ends before the `=` of its `let`, or before the `in` of its loop.
        (Some("if" | "while"), Some(after)) if is_type => match after.rsplit_once("let ") {
            Some((_, pattern)) if !pattern.contains(" = ") => Brace::Other,
            _ if is_open(after) => Brace::Other,
            _ => Brace::Block,
        },
        (Some("match"), Some(after)) if is_type && is_open(after) => Brace::Other,
        (Some("for"), Some(after)) if words.contains(&"impl") || !after.contains(" in ") => Brace::Other,
        (Some(_), Some(_)) => Brace::Block,
        // The body of a closure with a return type.
        _ if head.contains("| ->") => Brace::Block,
        _ if is_type => Brace::Other,
        _ if ["=>", ")", "|", "=", "!"].iter().any(|end| head.ends_with(end)) => Brace::Block,
        _ if matches!(last, Some("else" | "loop" | "unsafe" | "async" | "move")) => Brace::Block,
        _ if words.is_empty() && head.trim().is_empty() => Brace::Block,
        _ => Brace::Other,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a parenthesis is not closed.
fn is_open(text: &str) -> bool {
    text.matches(['(', '[']).count() > text.matches([')', ']']).count()
}

/// The code without comments, and with empty texts and characters. Lines stay.
fn without_texts(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            'r' | 'b' | 'c' if !code.ends_with(is_word) && raw_marks(rest).is_some() => {
                let (opening, marks) = raw_marks(rest).unwrap_or_default();
                let end = format!("\"{}", "#".repeat(marks));
                rest[opening..].find(&end).map_or(rest.len(), |at| opening + at + end.len())
            }
            '"' => quoted(rest, '"'),
            '\'' if is_char(rest) => quoted(rest, '\''),
            other => {
                code.push(other);
                rest = &rest[other.len_utf8()..];
                continue;
            }
        };
        code.extend(rest[..length].chars().filter(|c| *c == '\n'));
        rest = &rest[length..];
    }
    code
}

/// Length of the opening of a raw string, and the number of its `#`.
fn raw_marks(text: &str) -> Option<(usize, usize)> {
    let after = text.trim_start_matches(['b', 'c']).strip_prefix('r')?;
    let marks = after.len() - after.trim_start_matches('#').len();
    after[marks..].starts_with('"').then(|| (text.len() - after.len() + marks + 1, marks))
}

/// Length of a text in quotes that may contain escapes.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = true;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Whether an apostrophe opens a character, not a lifetime.
fn is_char(text: &str) -> bool {
    let mut chars = text.chars().skip(1);
    let first = chars.next();
    first == Some('\\') || (first.is_some() && chars.next() == Some('\''))
}
