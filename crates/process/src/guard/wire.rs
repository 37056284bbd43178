//! What we and our guards say to each other: frames on a socket, a length before each. Both ends are of one
//! release, so that the form may change with every one. Must not know what is done because of a message.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

/// What exec gets takes 2 MiB on Linux unless the stack was made larger; this is far above it.
const LONGEST: u32 = 64 << 20;

/// What a guard is to start and how to care for it. The three standard streams travel beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) path: PathBuf,
    pub(crate) arg0: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cwd: Option<PathBuf>,
    /// In a PID namespace of its own.
    pub(crate) strict: bool,
    /// What all of the tree can be told by.
    pub(crate) mark: u64,
    /// How long what is left behind by a program that ends by itself has, to end as well.
    pub(crate) grace: Duration,
    /// Names of processes that are left alone.
    pub(crate) keep: Vec<OsString>,
    /// A cgroup in which one may be made for the tree.
    pub(crate) cgroup: Option<PathBuf>,
}

/// From us to the warden: one guard more. Its end of the socket travels beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hire {
    pub(crate) mark: u64,
    /// As in the assignment, for the case that the guard is killed.
    pub(crate) keep: Vec<OsString>,
    pub(crate) cgroup: Option<PathBuf>,
}

/// From us to a guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Order {
    Start(Box<Assignment>),
    /// Its stdin has been closed: wait, then terminate, wait again, then kill.
    Stop {
        grace: Duration,
    },
    /// The same without the first wait.
    Terminate {
        grace: Duration,
    },
    Kill,
}

/// From a guard to us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Report {
    /// The guard is there, and waits for what to start.
    Here,
    Started {
        pid: u32,
        /// The guard's own number.
        guard: u32,
    },
    NotStarted {
        stage: Stage,
        errno: i32,
    },
    /// The program itself has ended, others of its tree may live on: `si_code` and `si_status` of old.
    LeaderEnded {
        exited: Option<i32>,
        signal: Option<i32>,
    },
    /// Nothing of the tree is left, but for what was to be kept and what cannot be killed.
    Gone {
        by: By,
        /// The names of those that a signal of ours ended, the program excepted.
        ended: Vec<OsString>,
        /// How many could not be killed.
        left: u32,
    },
}

/// Where a start failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Program = 0,
    Namespace = 1,
}

/// What it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Itself = 0,
    Term = 1,
    Kill = 2,
}

impl Hire {
    pub(crate) fn frame(&self) -> Vec<u8> {
        let mut out = Writer::new();
        out.number(self.mark);
        out.list(&self.keep);
        out.path(self.cgroup.as_ref());
        out.finish()
    }

    pub(crate) fn parse(body: &[u8]) -> io::Result<Self> {
        let mut input = Reader(body);
        Ok(Self { mark: input.number()?, keep: input.list()?, cgroup: input.path()? })
    }
}

impl Order {
    pub(crate) fn frame(&self) -> Vec<u8> {
        let mut out = Writer::new();
        match self {
            Self::Start(assignment) => {
                out.byte(0);
                assignment.write(&mut out);
            }
            Self::Stop { grace } => out.byte(1).time(*grace),
            Self::Terminate { grace } => out.byte(2).time(*grace),
            Self::Kill => drop(out.byte(3)),
        }
        out.finish()
    }

    pub(crate) fn parse(body: &[u8]) -> io::Result<Self> {
        let mut input = Reader(body);
        Ok(match input.byte()? {
            0 => Self::Start(Box::new(Assignment::read(&mut input)?)),
            1 => Self::Stop { grace: input.time()? },
            2 => Self::Terminate { grace: input.time()? },
            3 => Self::Kill,
            _ => return Err(nonsense()),
        })
    }
}

impl Report {
    pub(crate) fn not_started(stage: Stage, error: &io::Error) -> Self {
        Self::NotStarted { stage, errno: error.raw_os_error().unwrap_or_default() }
    }

    pub(crate) fn frame(&self) -> Vec<u8> {
        let mut out = Writer::new();
        match self {
            Self::Started { pid, guard } => {
                out.byte(0).number(u64::from(*pid));
                out.number(u64::from(*guard));
            }
            Self::NotStarted { stage, errno } => {
                out.byte(1).byte(*stage as u8).number(u64::from(errno.cast_unsigned()));
            }
            Self::LeaderEnded { exited, signal } => {
                out.byte(2);
                out.option(exited.map(|code| u64::from(code.cast_unsigned())));
                out.option(signal.map(|signal| u64::from(signal.cast_unsigned())));
            }
            Self::Gone { by, ended, left } => {
                out.byte(3).byte(*by as u8).number(u64::from(*left));
                out.list(ended);
            }
            Self::Here => {
                out.byte(4);
            }
        }
        out.finish()
    }

    pub(crate) fn parse(body: &[u8]) -> io::Result<Self> {
        let mut input = Reader(body);
        Ok(match input.byte()? {
            0 => Self::Started { pid: input.small()?, guard: input.small()? },
            1 => Self::NotStarted {
                stage: if input.byte()? == Stage::Program as u8 { Stage::Program } else { Stage::Namespace },
                errno: input.small()?.cast_signed(),
            },
            2 => Self::LeaderEnded {
                exited: input.option()?.map(u32::cast_signed),
                signal: input.option()?.map(u32::cast_signed),
            },
            3 => {
                let by = match input.byte()? {
                    0 => By::Itself,
                    1 => By::Term,
                    _ => By::Kill,
                };
                Self::Gone { by, left: input.small()?, ended: input.list()? }
            }
            4 => Self::Here,
            _ => return Err(nonsense()),
        })
    }
}

impl Assignment {
    fn write(&self, out: &mut Writer) {
        out.bytes(self.path.as_os_str().as_bytes());
        out.bytes(self.arg0.as_bytes());
        out.list(&self.args);
        out.number(self.env.len() as u64);
        for (name, value) in &self.env {
            out.bytes(name.as_bytes());
            out.bytes(value.as_bytes());
        }
        out.path(self.cwd.as_ref());
        out.byte(u8::from(self.strict)).number(self.mark);
        out.time(self.grace);
        out.list(&self.keep);
        out.path(self.cgroup.as_ref());
    }

    fn read(input: &mut Reader<'_>) -> io::Result<Self> {
        let path = input.text()?.into();
        let arg0 = input.text()?;
        let args = input.list()?;
        let count = input.number()?;
        let env = (0..count).map(|_| Ok((input.text()?, input.text()?))).collect::<io::Result<_>>()?;
        Ok(Self {
            path,
            arg0,
            args,
            env,
            cwd: input.path()?,
            strict: input.byte()? != 0,
            mark: input.number()?,
            grace: input.time()?,
            keep: input.list()?,
            cgroup: input.path()?,
        })
    }
}

/// Reads one frame; nothing at the end of the stream.
pub(crate) fn read_frame(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let length = body_length(length)?;
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(Some(body))
}

/// Takes the first whole frame off a buffer.
pub(crate) fn take_frame(buffer: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    let Some(length) = buffer.first_chunk::<4>() else { return Ok(None) };
    let end = 4 + body_length(*length)?;
    if buffer.len() < end {
        return Ok(None);
    }
    let body = buffer[4..end].to_vec();
    buffer.drain(..end);
    Ok(Some(body))
}

fn body_length(prefix: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_le_bytes(prefix);
    if length > LONGEST { Err(nonsense()) } else { Ok(length as usize) }
}

fn nonsense() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a message that no guard sends")
}

/// Builds a frame; the length is filled in at the end.
struct Writer(Vec<u8>);

impl Writer {
    fn new() -> Self {
        Self(vec![0; 4])
    }

    fn byte(&mut self, byte: u8) -> &mut Self {
        self.0.push(byte);
        self
    }

    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn time(&mut self, time: Duration) {
        self.number(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    }

    fn option(&mut self, number: Option<u64>) {
        self.byte(u8::from(number.is_some())).number(number.unwrap_or_default());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn path(&mut self, path: Option<&PathBuf>) {
        // No path is empty.
        self.bytes(path.map(|path| path.as_os_str().as_bytes()).unwrap_or_default());
    }

    fn list(&mut self, list: &[OsString]) {
        self.number(list.len() as u64);
        for text in list {
            self.bytes(text.as_bytes());
        }
    }

    fn finish(mut self) -> Vec<u8> {
        let length = u32::try_from(self.0.len() - 4).unwrap_or(u32::MAX);
        self.0[..4].copy_from_slice(&length.to_le_bytes());
        self.0
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take(&mut self, count: usize) -> io::Result<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(nonsense)?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> io::Result<u8> {
        Ok(self.take(1)?[0])
    }

    fn number(&mut self) -> io::Result<u64> {
        let bytes = self.take(8)?.first_chunk::<8>().ok_or_else(nonsense)?;
        Ok(u64::from_le_bytes(*bytes))
    }

    fn small(&mut self) -> io::Result<u32> {
        u32::try_from(self.number()?).map_err(|_| nonsense())
    }

    fn option(&mut self) -> io::Result<Option<u32>> {
        let there = self.byte()? != 0;
        let number = self.small()?;
        Ok(there.then_some(number))
    }

    fn time(&mut self) -> io::Result<Duration> {
        Ok(Duration::from_millis(self.number()?))
    }

    fn text(&mut self) -> io::Result<OsString> {
        let length = usize::try_from(self.number()?).map_err(|_| nonsense())?;
        Ok(OsString::from_vec(self.take(length)?.to_vec()))
    }

    fn path(&mut self) -> io::Result<Option<PathBuf>> {
        Ok(Some(PathBuf::from(self.text()?)).filter(|path| !path.as_os_str().is_empty()))
    }

    fn list(&mut self) -> io::Result<Vec<OsString>> {
        let count = self.number()?;
        (0..count).map(|_| self.text()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assignment() -> Assignment {
        Assignment {
            path: "/bin/sh".into(),
            arg0: "sh".into(),
            args: vec!["-c".into(), OsString::from_vec(vec![0xff, 0xfe]), "".into()],
            env: vec![("A".into(), "b=c\n".into()), ("EMPTY".into(), "".into())],
            cwd: None,
            strict: true,
            mark: u64::MAX >> 2,
            grace: Duration::from_secs(5),
            keep: vec!["adb".into()],
            cgroup: Some("/sys/fs/cgroup/x".into()),
        }
    }

    #[test]
    fn a_hire_comes_back_as_it_was() {
        let hire = Hire { mark: 7, keep: vec!["adb".into()], cgroup: None };
        assert_eq!(Hire::parse(&take_frame(&mut hire.frame()).unwrap().unwrap()).unwrap(), hire);
    }

    #[test]
    fn orders_and_reports_come_back_as_they_were() {
        let grace = Duration::from_millis(1500);
        let orders = [
            Order::Start(Box::new(assignment())),
            Order::Stop { grace },
            Order::Terminate { grace: Duration::MAX },
            Order::Kill,
        ];
        for order in orders {
            let mut frame = order.frame();
            let body = take_frame(&mut frame).unwrap().unwrap();
            let expect = match order {
                // Longer than anyone waits.
                Order::Terminate { .. } => Order::Terminate { grace: Duration::from_millis(u64::MAX) },
                order => order,
            };
            assert_eq!((Order::parse(&body).unwrap(), frame.len()), (expect, 0));
        }
        let reports = [
            Report::Here,
            Report::Started { pid: 7, guard: 6 },
            Report::NotStarted { stage: Stage::Namespace, errno: 1 },
            Report::LeaderEnded { exited: Some(0), signal: None },
            Report::LeaderEnded { exited: None, signal: Some(9) },
            Report::Gone { by: By::Term, ended: vec!["chrome".into()], left: 2 },
        ];
        for report in reports {
            let frame = report.frame();
            let body = read_frame(&mut frame.as_slice()).unwrap().unwrap();
            assert_eq!(Report::parse(&body).unwrap(), report);
        }
    }

    #[test]
    fn what_was_cut_or_made_up_is_refused() {
        let frame = Order::Start(Box::new(assignment())).frame();
        for end in 4..frame.len() {
            assert!(Order::parse(&frame[4..end]).is_err(), "cut at {end}");
        }
        assert!(Order::parse(&[9]).is_err());
        assert!(Report::parse(&[9]).is_err());
        assert!(take_frame(&mut vec![0xff; 8]).is_err());
        assert!(take_frame(&mut vec![5, 0, 0, 0, 1]).unwrap().is_none());
        assert!(read_frame(&mut [].as_slice()).unwrap().is_none());
    }
}
