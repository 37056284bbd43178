//! The warden on Windows: two layers of job objects, which the system closes when we end for whatever reason.
//! So no helper processes and no later sweep are needed.
//!
//! The first layer is a job around ourselves: everything we start is in it from the first moment. The second
//! is a nested job per tree, which ends one tree without the others.

use super::{GuardMode, GuardOptions, Layer, LayerState, Layers, Options, Swept};
use crate::child::os::{Guarding, spawn_guarded};
use crate::child::{Launch, SpawnError, Spawned};
use crate::job::Job;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Variable that, in debug builds, makes the system seem to refuse the job of a server.
#[cfg(debug_assertions)]
const NO_JOBS: &str = "SWITCHBOARD_PRETEND_NO_JOBS";

pub(super) struct OsWarden {
    /// The error is the reason why there is none.
    own_job: Result<(), String>,
    job_per_tree: Result<(), String>,
    /// The reason why a process could not be put into a job of its own, found when that was tried.
    refusal: OnceLock<String>,
}

impl OsWarden {
    /// Encloses the calling process in a job for the rest of its life: not for a process whose children must
    /// outlive it.
    pub(super) fn start(_: Options) -> Self {
        let own_job = Job::new().and_then(Job::enclose_us).map_err(refused);
        // A surrounding job that cannot be nested prevents both.
        let job_per_tree = own_job.clone().and_then(|()| Job::new().map(drop).map_err(refused));
        Self { own_job, job_per_tree, refusal: OnceLock::new() }
    }

    pub(super) fn probe(options: Options) -> Layers {
        // Only trying tells, and it does no harm to a process that only probes.
        Self::start(options).layers()
    }

    pub(super) fn has_failed(&self) -> bool {
        self.refusal.get().is_some()
    }

    pub(super) fn layers(&self) -> Layers {
        fn state(job: &Result<(), String>) -> LayerState {
            match job {
                Ok(()) => LayerState::Active,
                Err(why) => LayerState::Missing(why.clone()),
            }
        }
        let keep = "a job ends as a whole, including processes that `keep` names".to_owned();
        let per_tree = match self.refusal.get() {
            Some(why) => Err(why.clone()),
            None => self.job_per_tree.clone(),
        };
        Layers(vec![
            Layer { name: "job of Switchboard", state: state(&self.own_job) },
            Layer { name: "job per server", state: state(&per_tree) },
            Layer { name: "keep", state: LayerState::Absent(keep) },
        ])
    }

    /// `Strict` is the same as `Auto`: processes cannot leave a job, so there is no gap for a namespace to
    /// close. With `Off`, descendants of a server live until we end.
    pub(super) async fn spawn(&self, launch: &Launch, guard: &GuardOptions) -> Result<Spawned, SpawnError> {
        let guarding = match guard.mode {
            #[cfg(debug_assertions)]
            GuardMode::Auto | GuardMode::Strict if std::env::var_os(NO_JOBS).is_some() => {
                Guarding::RefusedJob
            }
            GuardMode::Auto | GuardMode::Strict => Guarding::Job { memory: guard.memory },
            GuardMode::Off => Guarding::Off,
        };
        let (spawned, refusal) = spawn_guarded(launch, guarding)?;
        if let Some(error) = refusal {
            let _ = self.refusal.set(format!(
                "{}; the processes of a server are looked up and ended one by one",
                refused(error)
            ));
        }
        Ok(spawned)
    }

    /// Returns at once: the system does the watching.
    pub(super) async fn close(&self) {}

    /// Always empty: no process outlives its job.
    pub(super) async fn sweep(&self) -> Vec<Swept> {
        Vec::new()
    }
}

/// Does nothing: the system ends everything the process had started.
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
