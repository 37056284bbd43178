//! Parser for one line of a batch file.

/// The statements that shims use.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Statement<'a> {
    /// No effect on the program.
    Nothing,
    Goto(&'a str),
    Call(&'a str),
    Return,
    /// `IF … (`
    If(Condition<'a>),
    /// The loop over the output of `npm prefix -g` in `npm.cmd` and `npx.cmd`.
    ForNpmPrefix,
    Else,
    EndOfBlock,
    Set(&'a str, &'a str),
    /// A command with all arguments of the file. `ends_local`: it runs with the variables of the file's caller.
    Run {
        command: &'a str,
        ends_local: bool,
    },
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Condition<'a> {
    Exists { path: &'a str, wanted: bool },
    Defined { name: &'a str, wanted: bool },
}

/// Prefix that npm writes before the program, so that `cmd.exe` neither asks "Terminate batch job (Y/N)?" nor keeps the
/// file's variables. The label does not exist; the title is that of the console.
const NPM_PREAMBLE: &str = "endlocal & goto #_undefined_# 2>nul || title %comspec% & ";
/// All arguments of the file.
const ALL_ARGS: &str = "%*";

/// `None` if the line is something else.
pub(super) fn parse(line: &str) -> Option<Statement<'_>> {
    let line = line.trim().trim_start_matches('@').trim();
    let lower = line.to_ascii_lowercase();
    let rest = |prefix: &str| lower.starts_with(prefix).then(|| line[prefix.len()..].trim());
    match lower.as_str() {
        "" | "echo off" | "setlocal" | "endlocal" => return Some(Statement::Nothing),
        ")" => return Some(Statement::EndOfBlock),
        ") else (" => return Some(Statement::Else),
        "exit /b" | "exit /b %errorlevel%" | "goto :eof" => return Some(Statement::Return),
        _ if line.starts_with(':') => return Some(Statement::Nothing),
        _ if lower == "rem" || lower.starts_with("rem ") => return Some(Statement::Nothing),
        _ => {}
    }
    if let Some(label) = rest("goto ") {
        return is_name(label).then_some(Statement::Goto(label));
    }
    if let Some(label) = rest("call :") {
        return is_name(label).then_some(Statement::Call(label));
    }
    if let Some(condition) = rest("if ") {
        return if_statement(condition);
    }
    if let Some(assignment) = rest("set ") {
        return set_statement(assignment);
    }
    if lower.starts_with("for /f \"delims=\" %%f in ('call \"%node_exe%\" \"%npm_")
        && lower.ends_with("') do (")
    {
        let asks = ["\"%npm_prefix_js%\"", "\"%npm_cli_js%\" prefix -g"];
        return asks.iter().any(|asks| lower.contains(asks)).then_some(Statement::ForNpmPrefix);
    }
    let (command, ends_local) = match lower.starts_with(NPM_PREAMBLE) {
        true => (&line[NPM_PREAMBLE.len()..], true),
        false => (line, false),
    };
    let command = command.trim_end().strip_suffix(ALL_ARGS)?;
    (command.ends_with(' ') && !command.trim().is_empty()).then_some(Statement::Run { command, ends_local })
}

fn if_statement(text: &str) -> Option<Statement<'_>> {
    let text = text.strip_suffix('(')?.trim_end();
    let (text, wanted) = match strip_word(text, "not ") {
        Some(text) => (text, false),
        None => (text, true),
    };
    if let Some(path) = strip_word(text, "exist ") {
        let path = path.strip_prefix('"')?.strip_suffix('"')?;
        return Some(Statement::If(Condition::Exists { path, wanted }));
    }
    let name = strip_word(text, "defined ").filter(|name| is_name(name))?;
    Some(Statement::If(Condition::Defined { name, wanted }))
}

fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let start = text.get(..word.len())?;
    start.eq_ignore_ascii_case(word).then(|| text[word.len()..].trim_start())
}

fn set_statement(text: &str) -> Option<Statement<'_>> {
    let text = match text.strip_prefix('"') {
        Some(quoted) => quoted.strip_suffix('"')?,
        None => text,
    };
    // Neither `set /a` nor a value followed by a second statement is a plain assignment.
    let (name, value) = text.split_once('=')?;
    (is_name(name) && !value.contains(['&', '|', '<', '>', '^', '"'])).then_some(Statement::Set(name, value))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|char| char.is_ascii_alphanumeric() || "_-#".contains(char))
}

/// Splits a command without redirections, variables or second commands.
pub(in crate::child::invocation) fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = command.trim();
    while !rest.is_empty() {
        let (word, behind) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        let is_quoted = rest.starts_with('"');
        // Text directly after a quote would belong to the same word.
        if !(behind.is_empty() || behind.starts_with(char::is_whitespace)) {
            return None;
        }
        if word.contains(['%', '\r', '\n'])
            || (!is_quoted && word.contains(['&', '|', '<', '>', '^', '(', ')', '"']))
        {
            return None;
        }
        words.push(word.to_owned());
        rest = behind.trim_start();
    }
    Some(words)
}
