//! `fake-ide`: a client in a process of its own, so that a test can kill it.
//!
//! `fake-ide FOLDER [--leak] -- COMMAND …` starts the command as an IDE would, makes the handshake, starts another
//! process beside it, and then does nothing. In the folder it leaves `program` and `sibling`, their process
//! ids, and then `greeted`. With `--leak` the sibling holds the write end of the command's stdin, as happens
//! if a program starts several others and its pipes are inherited.

#![forbid(unsafe_code)]

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    unix::main()
}

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
mod unix {
    use std::ffi::OsString;
    use std::fs;
    use std::os::fd::AsFd;
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::time::Duration;
    use switchboard_testkit::client::{Start, initialize_params};

    /// Upper limit of the life of this process and its sibling, even if the test fails.
    const LIFETIME: Duration = Duration::from_secs(120);

    pub(super) fn main() -> Result<(), Box<dyn std::error::Error>> {
        let words: Vec<OsString> = std::env::args_os().skip(1).collect();
        let mut halves = words.splitn(2, |word| word == "--");
        let (own, command) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
        let (folder, leaks) = match own {
            [folder] => (Path::new(folder), false),
            [folder, flag] if flag == "--leak" => (Path::new(folder), true),
            _ => return Err("fake-ide FOLDER [--leak] -- COMMAND …".into()),
        };
        if command.is_empty() {
            return Err("a command is missing".into());
        }
        let mut program = Start::plain(command).stderr(Stdio::inherit()).program()?;
        note(folder, "program", program.pid())?;
        program.initialize(initialize_params())?;

        let mut sibling = Command::new("sleep");
        sibling.arg(LIFETIME.as_secs().to_string()).stdin(Stdio::null()).stderr(Stdio::null());
        sibling.stdout(match leaks {
            true => Stdio::from(program.input().as_fd().try_clone_to_owned()?),
            false => Stdio::null(),
        });
        #[expect(clippy::disallowed_methods, reason = "this plays an IDE; the test that kills it cleans up")]
        let sibling = sibling.spawn()?;
        note(folder, "sibling", sibling.id())?;
        note(folder, "greeted", 1)?;
        std::thread::sleep(LIFETIME);
        Ok(())
    }

    /// A temporary name first: a reader sees the whole number or nothing.
    fn note(folder: &Path, name: &str, number: u32) -> std::io::Result<()> {
        let draft = folder.join(format!("{name}.draft"));
        fs::write(&draft, number.to_string())?;
        fs::rename(draft, folder.join(name))
    }
}
