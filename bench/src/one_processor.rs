//! All on one processor, so that the figures do not depend on where the system puts each program.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// Holds for the programs that are started too.
pub(crate) fn stay_on_one_processor() -> io::Result<()> {
    let mut allowed = sched_getaffinity(None)?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|&cpu| allowed.is_set(cpu)).unwrap_or(0);
    allowed.clear();
    allowed.set(last);
    Ok(sched_setaffinity(None, &allowed)?)
}
