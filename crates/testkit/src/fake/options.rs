//! What concerns the whole process.

#[cfg(target_os = "linux")]
use crate::zoo::Kind;
use std::path::PathBuf;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Framing {
    #[default]
    Newline,
    ContentLength,
}

#[derive(Debug, Default)]
pub(crate) struct Options {
    /// `--record DIR`: what is heard goes to `DIR/1.heard`, of the next process to `DIR/2.heard`, …
    pub(crate) record: Option<PathBuf>,
    /// `--faulty N`: only the first N processes have the faults below.
    faulty: Option<u32>,

    /// `--framing content-length`: understands and speaks nothing else.
    pub(crate) framing: Framing,
    /// `--bare`: leaves out `jsonrpc`.
    pub(crate) bare: bool,
    /// `--bom`, `--crlf`: what editors of another time put around lines.
    pub(crate) bom: bool,
    pub(crate) crlf: bool,
    /// `--greeting TEMPLATE`: the whole answer to `initialize`.
    pub(crate) greeting: Option<String>,
    /// `--tool NAME`: lists a tool of this name too.
    pub(crate) tools: Vec<String>,
    /// `--offer FILE`: what it offers stands there.
    pub(crate) offer: Option<PathBuf>,

    /// `--protest TEMPLATE`: said to every line that is not JSON.
    pub(crate) protest: Option<String>,

    /// `--say TEMPLATE`: printed on stdout at the start.
    pub(crate) say: Option<String>,
    /// `--stderr TEXT`: printed on stderr at the start.
    pub(crate) stderr: Option<String>,
    /// `--exit-at-start CODE`
    pub(crate) exit_at_start: Option<u8>,
    /// `--never-read`
    pub(crate) never_read: bool,
    /// `--silent`: reads, and answers nothing.
    pub(crate) silent: bool,
    /// `--crash-on METHOD`: exits with code 9 instead of answering it.
    pub(crate) crash_on: Option<String>,
    /// `--hang-on METHOD`: does not answer it.
    pub(crate) hang_on: Option<String>,
    /// `--crash-after N`: exits with code 9 instead of answering the request after N answers.
    pub(crate) crash_after: Option<u32>,
    /// `--gate FILE`: answers nothing before there is such a file.
    pub(crate) gate: Option<PathBuf>,
    /// `--flood N`: says so many things, each of a kilobyte, behind its greeting.
    pub(crate) flood: Option<u32>,
    /// `--ignore-eof`: goes on when its input ends.
    pub(crate) ignore_eof: bool,
    /// `--last-words TEMPLATE`: printed on stdout when its input ends.
    pub(crate) last_words: Option<String>,

    /// `--stubborn`: ignores the signals that ask for its end.
    #[cfg(target_os = "linux")]
    pub(crate) stubborn: bool,
    /// `--with KIND`: has started a process of this kind before it serves.
    #[cfg(target_os = "linux")]
    pub(crate) with: Vec<Kind>,
}

impl Options {
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        let mut words = words.peekable();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} wants a value"));
            match word.as_str() {
                "--record" => options.record = Some(value()?.into()),
                "--faulty" => options.faulty = Some(number(&value()?)?),
                "--framing" if value()? == "content-length" => options.framing = Framing::ContentLength,
                "--bare" => options.bare = true,
                "--bom" => options.bom = true,
                "--crlf" => options.crlf = true,
                "--greeting" => options.greeting = Some(value()?),
                "--tool" => options.tools.push(value()?),
                "--offer" => options.offer = Some(value()?.into()),
                "--gate" => options.gate = Some(value()?.into()),
                "--flood" => options.flood = Some(number(&value()?)?),
                "--protest" => options.protest = Some(value()?),
                "--say" => options.say = Some(value()?),
                "--stderr" => options.stderr = Some(value()?),
                "--exit-at-start" => options.exit_at_start = Some(number(&value()?)?),
                "--never-read" => options.never_read = true,
                "--silent" => options.silent = true,
                "--crash-on" => options.crash_on = Some(value()?),
                "--hang-on" => options.hang_on = Some(value()?),
                "--crash-after" => options.crash_after = Some(number(&value()?)?),
                "--ignore-eof" => options.ignore_eof = true,
                "--last-words" => options.last_words = Some(value()?),
                #[cfg(target_os = "linux")]
                "--stubborn" => options.stubborn = true,
                #[cfg(target_os = "linux")]
                "--with" => {
                    let kind = value()?;
                    options.with.push(Kind::named(&kind).ok_or_else(|| format!("no such kind: {kind}"))?);
                }
                // Words that mean nothing to it: a test looks at what arrives of its arguments.
                "--" => break,
                _ => return Err(format!("unknown word {word}")),
            }
        }
        Ok(options)
    }

    /// Whether this process is one of the faulty ones.
    pub(crate) fn is_faulty(&self, launch: u32) -> bool {
        self.faulty.is_none_or(|faulty| launch <= faulty)
    }
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("not a number: {text}"))
}
