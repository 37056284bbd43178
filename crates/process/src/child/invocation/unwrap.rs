//! The command inside `cmd /c …`, which configs for Windows use so that `npx` is found. Pure.
//!
//! To `cmd.exe`, a `&` in an argument, such as a folder's name, ends the command, and the rest of the argument is another
//! one. Nothing marks the words that the user meant as operators, so only words that cannot be anything else count as
//! operators.

/// Built-in commands of `cmd.exe`, which may also be names of programs.
const BUILT_IN: [&str; 25] = [
    "assoc", "break", "call", "cd", "chdir", "cls", "copy", "del", "dir", "echo", "endlocal", "erase", "for",
    "ftype", "if", "md", "mkdir", "mklink", "move", "pushd", "rd", "ren", "set", "start", "type",
];
/// Characters that are special to `cmd.exe` outside quotes, or inside them too.
const SPECIAL: &str = "&|<>^%!()\"\r\n";
/// Operators of `cmd.exe`.
const OPERATORS: [&str; 4] = ["&", "&&", "|", "||"];
/// Redirections, which may follow a word without a space.
const REDIRECTIONS: [&str; 6] = ["2>nul", "1>nul", ">nul", "2>&1", "1>&2", ">&2"];

/// Number of arguments before the words after `/c`, if there is more than one such word.
pub(in crate::child) fn words(program: &str, args: &[&str]) -> Option<usize> {
    let name = program.rsplit(['\\', '/']).next()?.to_ascii_lowercase();
    if name != "cmd" && name != "cmd.exe" {
        return None;
    }
    let at = args.iter().position(|arg| arg.eq_ignore_ascii_case("/c"))? + 1;
    // A single word may be a whole command line.
    (args.len() > at + 1).then_some(at)
}

/// Number of arguments before the inner command, if `cmd.exe` would only start it.
pub(in crate::child) fn inner_command(program: &str, args: &[&str]) -> Option<usize> {
    let at = words(program, args).or_else(|| words(program, &[args, &[""]].concat()))?;
    // `/v:on` makes `!` special, which the inner command hardly relies on.
    let known =
        |flag: &&str| ["/d", "/s", "/q", "/e:on", "/v:on", "/v:off"].contains(&&*flag.to_ascii_lowercase());
    let (first, rest) = args[at..].split_first()?;
    let is_plain = args[..at - 1].iter().all(known) && !rest.iter().any(|word| is_for_cmd(word));
    // A first word with spaces may be a whole command line.
    let is_name = !first.contains(|c: char| c.is_whitespace() || SPECIAL.contains(c));
    (is_plain && is_name && !is_built_in(first)).then_some(at)
}

/// Whether a word after the first one needs `cmd.exe`.
fn is_for_cmd(word: &str) -> bool {
    word.contains(['%', '\r', '\n']) || is_syntax(word)
}

/// Whether a word is an operator, not an argument.
pub(in crate::child) fn is_syntax(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let redirected = REDIRECTIONS.iter().find_map(|end| lower.strip_suffix(end));
    OPERATORS.contains(&word)
        || matches!(word, ">" | ">>" | "<" | "2>" | "2>>")
        || redirected.is_some_and(|word| !word.contains(|c: char| c.is_whitespace() || SPECIAL.contains(c)))
}

/// Whether `cmd.exe` has a built-in command of this name.
pub(super) fn is_built_in(name: &str) -> bool {
    BUILT_IN.iter().any(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::{inner_command, is_syntax, words};

    #[track_caller]
    fn check(line: &[&str], expect: Option<usize>) {
        assert_eq!(inner_command(line[0], &line[1..]), expect, "{line:?}");
    }

    #[test]
    fn wrapped_commands_are_found() {
        check(&["cmd", "/c", "npx", "-y", "thing"], Some(1));
        check(&[r"C:\Windows\System32\CMD.EXE", "/d", "/s", "/C", "npx", "a b"], Some(3));
        check(&["cmd.exe", "/c", "uvx", r"--dir=C:\a b\"], Some(1));
        check(&["cmd", "/c", "npx"], Some(1));
        // `cmd.exe` would run a part of these arguments.
        for arg in [r"C:\a&calc", "a|calc", "a^b", "\"a\"&calc", "(a)", "a!b", "x>y", "&calc"] {
            check(&["cmd", "/c", "npx", arg], Some(1));
        }
    }

    #[test]
    fn other_commands_are_left_to_cmd() {
        check(&["node", "/c", "x"], None);
        check(&["cmd", "/c"], None);
        check(&["cmd", "/k", "npx", "x"], None);
        check(&["cmd", "/c", "npx thing"], None);
        check(&["cmd", "/c", "start", "x"], None);
        check(&["cmd", "/c", "SET"], None);
        check(&["cmd", "/u", "/c", "npx", "x"], None);
        for arg in ["%PATH%", "100%", "a\nb", "&&", "|", ">", "2>nul", "2>&1", "65001>NUL"] {
            check(&["cmd", "/c", "npx", arg], None);
        }
        check(&["cmd", "/c", "a&b", "x"], None);
    }

    #[test]
    fn cmd_operators_are_recognised() {
        for word in ["&&", "&", "|", ">", ">nul", "65001>nul", "2>NUL", "2>&1", "x2>&1"] {
            assert!(is_syntax(word), "{word}");
        }
        for word in ["a&calc", "&calc", "a b>nul", "a&calc>nul", "", "a", "^&", "%X%", ">file", "&&&"] {
            assert!(!is_syntax(word), "{word}");
        }
        assert_eq!(words("cmd", &["/d", "/c", "set X=1&&npx", "y"]), Some(2));
        assert_eq!(words("cmd", &["/c", "npx y && z"]), None);
        assert_eq!(words("node", &["/c", "a", "b"]), None);
    }
}
