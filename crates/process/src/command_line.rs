//! Quoting: joins arguments into the single command line of a Windows process. Pure; works on UTF-16 units, since a Windows
//! argument may contain anything but a zero.

/// Characters that are not special to `cmd.exe` outside quotes, besides letters and digits.
const PLAIN_TO_CMD: &str = r"#$*+-./:?@\_";
/// Expands to nothing. `cmd.exe` has no escape for a percent sign on its command line; this in front of each
/// one leaves no name between two of them that could be a variable.
const EXPANDS_TO_NOTHING: &str = "%%cd:~,";

const QUOTE: u16 = b'"' as u16;
const BACKSLASH: u16 = b'\\' as u16;
const SPACE: u16 = b' ' as u16;

/// A word after `cmd /c`.
#[derive(Clone, Copy)]
pub(crate) enum ShellWord<'a> {
    /// Passed to `cmd.exe` unchanged.
    Syntax(&'a [u16]),
    /// An argument, in which `cmd.exe` only expands variables.
    Argument(&'a [u16]),
}

/// A reason why a command cannot be passed to `cmd.exe`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotForBatch {
    #[error("a batch file cannot be started from a path with a percent sign, a quote or a line break")]
    Script,
    #[error("a batch file cannot take an argument with a line break")]
    LineBreak,
}

/// The command line of a program that splits it by the rules of the C runtime, as nearly all do.
pub(crate) fn for_program<'a>(program: &[u16], args: impl IntoIterator<Item = &'a [u16]>) -> Vec<u16> {
    // The program's name has simpler rules: nothing inside the quotes is special.
    let mut line = [&[QUOTE], program, &[QUOTE]].concat();
    for arg in args {
        line.push(SPACE);
        let needs_quotes = arg.is_empty() || arg.iter().any(|unit| [SPACE, b'\t'.into()].contains(unit));
        push_quoted(&mut line, arg, needs_quotes, |line, backslashes| {
            // An odd number of backslashes makes the quote part of the argument.
            line.extend(std::iter::repeat_n(BACKSLASH, backslashes + 1));
        });
    }
    line
}

/// The command line of `cmd.exe` that runs this batch file with these arguments, none of which can become
/// a command, a redirection or a variable. A newline would end the command, so it is refused.
///
/// `/d`: no commands from the registry. `/v:off`: `!` is not special. `/e:on`: for the percent signs.
pub(crate) fn for_batch<'a>(
    cmd: &[u16],
    script: &[u16],
    args: impl IntoIterator<Item = &'a [u16]>,
) -> Result<Vec<u16>, NotForBatch> {
    if script.contains(&QUOTE) || script.contains(&b'%'.into()) || has_line_end(script) {
        return Err(NotForBatch::Script);
    }
    let mut line = [&[QUOTE], cmd, &[QUOTE]].concat();
    // `cmd.exe` removes the outer quotes of everything behind `/c`, and leaves the inner ones alone.
    line.extend(" /e:on /v:off /d /s /c \"\"".encode_utf16());
    line.extend_from_slice(script);
    line.push(QUOTE);
    for arg in args {
        if has_line_end(arg) {
            return Err(NotForBatch::LineBreak);
        }
        line.push(SPACE);
        push_for_batch(&mut line, arg);
    }
    line.push(QUOTE);
    Ok(line)
}

/// The command line of `cmd.exe` with these flags that runs these words, so that no argument can become a command.
pub(crate) fn for_shell<'a>(
    cmd: &[u16],
    flags: impl IntoIterator<Item = &'a [u16]>,
    words: impl IntoIterator<Item = ShellWord<'a>>,
) -> Result<Vec<u16>, NotForBatch> {
    let mut line = [&[QUOTE], cmd, &[QUOTE]].concat();
    for flag in flags {
        line.push(SPACE);
        line.extend_from_slice(flag);
    }
    line.extend(" /s /c \"".encode_utf16());
    for (number, word) in words.into_iter().enumerate() {
        if number > 0 {
            line.push(SPACE);
        }
        match word {
            ShellWord::Syntax(word) => line.extend_from_slice(word),
            ShellWord::Argument(word) if has_line_end(word) => return Err(NotForBatch::LineBreak),
            ShellWord::Argument(word) => push_for_cmd(&mut line, word),
        }
    }
    line.push(QUOTE);
    Ok(line)
}

fn has_line_end(text: &[u16]) -> bool {
    text.iter().any(|unit| [u16::from(b'\r'), b'\n'.into(), 0].contains(unit))
}

/// Appends one argument for a batch file, which usually passes it on to a program of the C runtime.
fn push_for_batch(line: &mut Vec<u16>, arg: &[u16]) {
    let percent = u16::from(b'%');
    let mut safe = Vec::with_capacity(arg.len());
    for unit in arg {
        if *unit == percent {
            safe.extend(EXPANDS_TO_NOTHING.encode_utf16());
        }
        safe.push(*unit);
    }
    push_for_cmd(line, &safe);
}

/// Appends an argument that `cmd.exe` reads first, and usually passes on to a program of the C runtime.
fn push_for_cmd(line: &mut Vec<u16>, arg: &[u16]) {
    let is_plain = |unit: &u16| match u8::try_from(*unit).map(char::from) {
        Ok(char) => char.is_ascii_alphanumeric() || PLAIN_TO_CMD.contains(char),
        // Beyond Latin-1, which has some more separators, no character is special.
        Err(_) => true,
    };
    // A backslash at the end would escape the quotes that the script may put around the argument.
    let needs_quotes = arg.last().is_none_or(|last| *last == BACKSLASH) || !arg.iter().all(is_plain);
    // A doubled quote is one to the C runtime as well, and keeps `cmd.exe` inside the quotes.
    push_quoted(line, arg, needs_quotes, |line, backslashes| {
        line.extend(std::iter::repeat_n(BACKSLASH, backslashes));
        line.push(QUOTE);
    });
}

/// Appends an argument, with quotes around it if wanted. `escape` writes what precedes a quote inside it,
/// and gets the number of backslashes in front of that quote.
fn push_quoted(line: &mut Vec<u16>, arg: &[u16], quotes: bool, escape: impl Fn(&mut Vec<u16>, usize)) {
    if quotes {
        line.push(QUOTE);
    }
    let mut backslashes = 0;
    for unit in arg {
        if *unit == QUOTE {
            escape(line, backslashes);
        }
        backslashes = if *unit == BACKSLASH { backslashes + 1 } else { 0 };
        line.push(*unit);
    }
    if quotes {
        // Backslashes are special only in front of a quote, so those of the closing one are doubled.
        line.extend(std::iter::repeat_n(BACKSLASH, backslashes));
        line.push(QUOTE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(text: &str) -> Vec<u16> {
        text.encode_utf16().collect()
    }

    fn all(args: &[&str]) -> Vec<Vec<u16>> {
        args.iter().map(|arg| wide(arg)).collect()
    }

    fn program(args: &[&str]) -> String {
        let args = all(args);
        let line = for_program(&wide(r"C:\a b\node.exe"), args.iter().map(Vec::as_slice));
        String::from_utf16(&line).unwrap()
    }

    fn batch(args: &[&str]) -> Option<String> {
        let args = all(args);
        let line = for_batch(&wide("cmd"), &wide(r"C:\a b\x.cmd"), args.iter().map(Vec::as_slice));
        line.ok().map(|line| String::from_utf16(&line).unwrap())
    }

    #[test]
    fn program_gets_its_arguments_back() {
        for (arg, expect) in [
            ("plain", "plain"),
            ("", r#""""#),
            ("two words", r#""two words""#),
            ("tab\there", "\"tab\there\""),
            (r"C:\dir\", r"C:\dir\"),
            (r"C:\my dir\", r#""C:\my dir\\""#),
            (r#"say "hi""#, r#""say \"hi\"""#),
            (r#"a"b"#, r#"a\"b"#),
            (r#"a\"b"#, r#"a\\\"b"#),
            (r#"{"k":"v w"}"#, r#""{\"k\":\"v w\"}""#),
            ("%PATH%", "%PATH%"),
            ("a&b|c^d!e", "a&b|c^d!e"),
            ("größe", "größe"),
        ] {
            assert_eq!(program(&[arg]), format!(r#""C:\a b\node.exe" {expect}"#), "{arg}");
        }
        assert_eq!(program(&[]), r#""C:\a b\node.exe""#);
        assert_eq!(program(&["a", "b c", ""]), r#""C:\a b\node.exe" a "b c" """#);
    }

    #[test]
    fn batch_argument_is_never_a_command() {
        for (arg, expect) in [
            ("plain-1.2_3", "plain-1.2_3"),
            ("@scope/pkg@1.0", "@scope/pkg@1.0"),
            (r"C:\dir\file", r"C:\dir\file"),
            ("", r#""""#),
            ("two words", r#""two words""#),
            ("a&calc.exe", r#""a&calc.exe""#),
            ("a|b", r#""a|b""#),
            ("a^b", r#""a^b""#),
            ("a!b", r#""a!b""#),
            ("a<b>c", r#""a<b>c""#),
            ("(a)", r#""(a)""#),
            ("a=b,c;d", r#""a=b,c;d""#),
            ("%PATH%", r#""%%cd:~,%PATH%%cd:~,%""#),
            ("100%", r#""100%%cd:~,%""#),
            (r#"a"&calc"#, r#""a""&calc""#),
            (r#"a\"&calc"#, r#""a\\""&calc""#),
            (r"C:\dir\", r#""C:\dir\\""#),
            ("größe 漢字", r#""größe 漢字""#),
            ("漢字", "漢字"),
        ] {
            let expect = format!(r#""cmd" /e:on /v:off /d /s /c ""C:\a b\x.cmd" {expect}""#);
            assert_eq!(batch(&[arg]), Some(expect), "{arg}");
        }
        for arg in ["a\nb", "a\r", "a\0b"] {
            assert_eq!(batch(&[arg]), None, "{arg:?}");
        }
        assert_eq!(for_batch(&wide("cmd"), &wide(r"C:\100%\x.cmd"), []), Err(NotForBatch::Script));
    }

    #[test]
    fn cmd_argument_is_never_a_command() {
        let line = |words: &[&str]| {
            let (flags, all) = (all(&["/d"]), all(words));
            let words = words.iter().zip(&all).enumerate().map(|(number, (word, wide))| {
                let is_syntax = number == 0 || ["&&", ">nul"].contains(word);
                if is_syntax { ShellWord::Syntax(wide) } else { ShellWord::Argument(wide) }
            });
            let line = for_shell(&wide("cmd"), flags.iter().map(Vec::as_slice), words);
            line.ok().map(|line| String::from_utf16(&line).unwrap())
        };
        for (words, expect) in [
            (&["npx", r"C:\a&calc", "%X%"][..], r#"npx "C:\a&calc" "%X%""#),
            (&["set X=1&&npx", "-y", "two words"], r#"set X=1&&npx -y "two words""#),
            (&["chcp", "65001", ">nul", "&&", "npx", "a\"&calc"], r#"chcp 65001 >nul && npx "a""&calc""#),
        ] {
            assert_eq!(line(words), Some(format!(r#""cmd" /d /s /c "{expect}""#)));
        }
        assert_eq!(line(&["npx", "a\ncalc"]), None);
    }
}
