//! Behaviour of the whole process.

use std::path::PathBuf;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Framing {
    #[default]
    Newline,
    ContentLength,
}

/// The protocol eras that the server speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Era {
    /// `initialize` only: `server/discover` is unknown.
    #[default]
    Legacy,
    /// Each request in its own era.
    Dual,
    /// `initialize` is unknown.
    Modern,
}

impl Era {
    fn named(word: &str) -> Result<Self, String> {
        match word {
            "legacy" => Ok(Self::Legacy),
            "dual" => Ok(Self::Dual),
            "modern" => Ok(Self::Modern),
            _ => Err(format!("no such era: {word}")),
        }
    }
}

#[derive(Debug, Default)]
pub struct Options {
    /// `--record DIR`: copies all input to `DIR/1.heard`, that of the next process to `DIR/2.heard`, …
    pub record: Option<PathBuf>,
    /// `--faulty N`: only the first N processes have the faults below.
    pub faulty: Option<u32>,

    /// `--framing content-length`: understands and speaks nothing else.
    pub framing: Framing,
    /// `--era legacy|dual|modern`
    pub era: Era,
    /// `--ttl MS`, `--cache-scope public|private`: the cache hints of modern lists; 60 s and private by default.
    pub ttl: Option<u64>,
    pub cache_scope: Option<String>,
    /// `--bare`: leaves out `jsonrpc`.
    pub bare: bool,
    /// `--bom`, `--crlf`: a byte order mark at the start, CRLF at line ends.
    pub bom: bool,
    pub crlf: bool,
    /// `--greeting TEMPLATE`: the whole answer to `initialize`.
    pub greeting: Option<String>,
    /// `--tool NAME`: lists a tool of this name too.
    pub tools: Vec<String>,
    /// `--offer FILE`: the lists and capabilities to offer.
    pub offer: Option<PathBuf>,

    /// `--protest TEMPLATE`: printed for every line that is not JSON.
    pub protest: Option<String>,

    /// `--say TEMPLATE`: printed on stdout at the start.
    pub say: Option<String>,
    /// `--stderr TEXT`: printed on stderr at the start.
    pub stderr: Option<String>,
    /// `--exit-at-start CODE`
    pub exit_at_start: Option<u8>,
    /// `--never-read`
    pub never_read: bool,
    /// `--silent`: reads, and answers nothing.
    pub silent: bool,
    /// `--crash-on METHOD`: exits with code 9 instead of answering it.
    pub crash_on: Option<String>,
    /// `--hang-on METHOD`: does not answer it.
    pub hang_on: Option<String>,
    /// `--wants-initialize`: exits with code 9 if the first request is another.
    pub wants_initialize: bool,
    /// `--crash-after N`: exits with code 9 instead of answering the request after N answers.
    pub crash_after: Option<u32>,
    /// `--gate FILE`: answers only once this file exists.
    pub gate: Option<PathBuf>,
    /// `--flood N`: sends this many notifications of a kilobyte each after its greeting.
    pub flood: Option<u32>,
    /// `--ignore-eof`: goes on when its input ends.
    pub ignore_eof: bool,
    /// `--last-words TEMPLATE`: printed on stdout when its input ends.
    pub last_words: Option<String>,

    /// `--stubborn`: ignores termination signals.
    pub stubborn: bool,
    /// `--with KIND`: starts a process of this kind before it serves.
    pub with: Vec<String>,

    /// The name in its greeting; `None` is `fake-backend`.
    pub name: Option<String>,
    /// A file to which the tool `later` appends the tag of each call.
    pub done: Option<PathBuf>,
    /// Puts the id behind the result, as the TypeScript SDK does.
    pub id_last: bool,
}

impl Options {
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        let mut words = words.peekable();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} wants a value"));
            match word.as_str() {
                "--record" => options.record = Some(value()?.into()),
                "--faulty" => options.faulty = Some(number(&value()?)?),
                "--framing" if value()? == "content-length" => options.framing = Framing::ContentLength,
                "--era" => options.era = Era::named(&value()?)?,
                "--ttl" => options.ttl = Some(number(&value()?)?),
                "--cache-scope" => options.cache_scope = Some(value()?),
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
                "--wants-initialize" => options.wants_initialize = true,
                "--crash-after" => options.crash_after = Some(number(&value()?)?),
                "--ignore-eof" => options.ignore_eof = true,
                "--last-words" => options.last_words = Some(value()?),
                "--stubborn" => options.stubborn = true,
                "--with" => options.with.push(value()?),
                // Unknown words are ignored: a test checks which arguments arrive.
                "--" => break,
                _ => return Err(format!("unknown word {word}")),
            }
        }
        Ok(options)
    }

    /// Whether this process is one of the faulty ones.
    pub fn is_faulty(&self, launch: u32) -> bool {
        self.faulty.is_none_or(|faulty| launch <= faulty)
    }
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("not a number: {text}"))
}
