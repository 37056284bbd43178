//! Messages between the main process, the warden and the guards. Both ends are of the same release, so the
//! encoding may change with every release. Must not know what a message causes.

use super::frame::{FrameReader, FrameWriter, malformed};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

/// The program for a guard to start, and the treatment of its tree. The three standard streams are sent along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) path: PathBuf,
    pub(crate) arg0: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cwd: Option<PathBuf>,
    /// Run in its own PID namespace.
    pub(crate) strict: bool,
    /// The mark carried by all processes of the tree.
    pub(crate) mark: u64,
    /// Grace period for processes left behind by a program that ended by itself.
    pub(crate) grace: Duration,
    /// Names of processes that survive the tree.
    pub(crate) keep: Vec<OsString>,
    /// The parent of the cgroup to create for the tree.
    pub(crate) cgroup: Option<PathBuf>,
}

/// Main process to warden: start one more guard. The guard's end of the socket is sent along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GuardRequest {
    pub(crate) mark: u64,
    /// As in the assignment, in case the guard is killed.
    pub(crate) keep: Vec<OsString>,
    pub(crate) cgroup: Option<PathBuf>,
}

/// Main process to guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Order {
    Start(Box<Assignment>),
    /// Its stdin has been closed: wait, then terminate, wait again, then kill.
    Stop {
        grace: Duration,
    },
    /// Same as `Stop` without the first wait.
    Terminate {
        grace: Duration,
    },
    Kill,
}

/// Guard to main process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Report {
    /// The guard runs and waits for its assignment.
    Here,
    Started {
        pid: u32,
        /// The guard's own process number.
        guard: u32,
    },
    NotStarted {
        stage: Stage,
        errno: i32,
    },
    /// The program itself has ended, with this exit code or signal; descendants may live on.
    LeaderEnded {
        exited: Option<i32>,
        signal: Option<i32>,
    },
    /// The tree has ended, except for processes to keep and those that cannot be killed.
    Gone {
        by: EndedBy,
        /// Names of the processes that a signal of ours ended, except the program.
        ended: Vec<OsString>,
        /// Number of processes that could not be killed.
        left: u32,
    },
}

/// The step at which a start failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Program = 0,
    Namespace = 1,
}

/// The strongest means needed to end a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndedBy {
    Itself = 0,
    Term = 1,
    Kill = 2,
}

impl GuardRequest {
    pub(crate) fn frame(&self) -> Vec<u8> {
        let mut out = FrameWriter::new();
        out.number(self.mark);
        out.list(&self.keep);
        out.path(self.cgroup.as_ref());
        out.finish()
    }

    pub(crate) fn parse(body: &[u8]) -> io::Result<Self> {
        let mut input = FrameReader::new(body);
        Ok(Self { mark: input.number()?, keep: input.list()?, cgroup: input.path()? })
    }
}

impl Order {
    pub(crate) fn frame(&self) -> Vec<u8> {
        let mut out = FrameWriter::new();
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
        let mut input = FrameReader::new(body);
        Ok(match input.byte()? {
            0 => Self::Start(Box::new(Assignment::read(&mut input)?)),
            1 => Self::Stop { grace: input.time()? },
            2 => Self::Terminate { grace: input.time()? },
            3 => Self::Kill,
            _ => return Err(malformed()),
        })
    }
}

impl Report {
    pub(crate) fn not_started(stage: Stage, error: &io::Error) -> Self {
        Self::NotStarted { stage, errno: error.raw_os_error().unwrap_or_default() }
    }

    pub(crate) fn frame(&self) -> Vec<u8> {
        let mut out = FrameWriter::new();
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
        let mut input = FrameReader::new(body);
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
                    0 => EndedBy::Itself,
                    1 => EndedBy::Term,
                    _ => EndedBy::Kill,
                };
                Self::Gone { by, left: input.small()?, ended: input.list()? }
            }
            4 => Self::Here,
            _ => return Err(malformed()),
        })
    }
}

impl Assignment {
    fn write(&self, out: &mut FrameWriter) {
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

    fn read(input: &mut FrameReader<'_>) -> io::Result<Self> {
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

#[cfg(test)]
mod tests {
    use super::super::frame::{read_frame, take_frame};
    use super::*;
    use std::os::unix::ffi::OsStringExt;

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
    fn guard_requests_survive_a_round_trip() {
        let request = GuardRequest { mark: 7, keep: vec!["adb".into()], cgroup: None };
        assert_eq!(
            GuardRequest::parse(&take_frame(&mut request.frame()).unwrap().unwrap()).unwrap(),
            request
        );
    }

    #[test]
    fn orders_and_reports_survive_a_round_trip() {
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
                // Longer than any caller waits.
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
            Report::Gone { by: EndedBy::Term, ended: vec!["chrome".into()], left: 2 },
        ];
        for report in reports {
            let frame = report.frame();
            let body = read_frame(&mut frame.as_slice()).unwrap().unwrap();
            assert_eq!(Report::parse(&body).unwrap(), report);
        }
    }

    #[test]
    fn truncated_frames_are_refused() {
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
