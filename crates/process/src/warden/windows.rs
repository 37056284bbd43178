//! The warden on Windows: two layers of job objects, which the system itself closes when we end, whatever ends
//! us. So there is no process to watch over others, and nothing that a later start would have to sweep.
//!
//! The first layer is a job that we are in ourselves: all that we start is born into it, from its first moment.
//! The second is a job per tree, nested in the first, by which one tree is ended and the others are not.

use super::{GuardMode, GuardOptions, Layer, LayerState, Layers, Options, Swept};
use crate::child::os::spawn_in;
use crate::child::{Launch, SpawnError, Spawned};
use crate::job::Job;
use std::io;
use std::path::PathBuf;

pub(super) struct OsWarden {
    /// Or why there is none.
    own_job: Result<(), String>,
    job_per_tree: Result<(), String>,
}

impl OsWarden {
    /// Whoever calls this is enclosed in a job for the rest of its life: not for a process that starts others
    /// which are to outlive it.
    pub(super) fn start(_: Options) -> Self {
        let own_job = Job::new().and_then(Job::enclose_us).map_err(refused);
        // What forbids the one, a job around us that cannot be nested, forbids the other too.
        let job_per_tree = own_job.clone().and_then(|()| Job::new().map(drop).map_err(refused));
        Self { own_job, job_per_tree }
    }

    pub(super) fn probe(options: Options) -> Layers {
        // It cannot be known but by doing it, and does no harm to a process that only wants to know.
        Self::start(options).layers()
    }

    pub(super) fn has_failed(&self) -> bool {
        false
    }

    pub(super) fn layers(&self) -> Layers {
        fn state(job: &Result<(), String>) -> LayerState {
            match job {
                Ok(()) => LayerState::Active,
                Err(why) => LayerState::Missing(why.clone()),
            }
        }
        let keep = "a job is ended as a whole, with those that `keep` names".to_owned();
        Layers(vec![
            Layer { name: "job around us", state: state(&self.own_job) },
            Layer { name: "job per server", state: state(&self.job_per_tree) },
            Layer { name: "keep", state: LayerState::Absent(keep) },
        ])
    }

    /// `Strict` is no more than `Auto`: a job has no way out that a namespace would have to close. `Off` leaves
    /// alone what a server started, until we end.
    pub(super) async fn spawn(&self, launch: &Launch, guard: &GuardOptions) -> Result<Spawned, SpawnError> {
        let job = match guard.mode {
            // A server without a job of its own is still of use, and ends with us by the job around us.
            GuardMode::Auto | GuardMode::Strict => Job::new().ok(),
            GuardMode::Off => None,
        };
        spawn_in(launch, job)
    }

    /// Nothing watches over processes but the system.
    pub(super) async fn close(&self) {}

    /// Nothing outlives a job.
    pub(super) async fn sweep(&self) -> Vec<Swept> {
        Vec::new()
    }
}

/// The system has ended all that it started.
pub(super) struct OsWitness;

impl OsWitness {
    pub(super) fn of(_: u32, _: PathBuf) -> Self {
        Self
    }

    pub(super) async fn ended(&mut self) {}

    pub(super) async fn sweep(self) -> Vec<Swept> {
        Vec::new()
    }
}

fn refused(error: io::Error) -> String {
    format!("the system refuses a job object: {error}")
}
