//! Kills backends and a daemon at random. Windows kill their own clients.

use super::{Count, Rng, World, census};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use switchboard_testkit::pids::{self, Word};

const MEAN_TIME_TO_BACKEND_KILL: Duration = Duration::from_secs(6);
const MEAN_TIME_TO_DAEMON_KILL: Duration = Duration::from_secs(25);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(super) fn reign(world: &World) {
    let mut rng = Rng(world.seed);
    let mut some =
        |average: Duration| Instant::now() + Duration::from_millis(rng.below(2 * average.as_millis() as u64));
    let (mut backend, mut daemon) = (some(MEAN_TIME_TO_BACKEND_KILL), some(MEAN_TIME_TO_DAEMON_KILL));
    let mut pick = Rng(!world.seed);
    while !world.is_over() {
        std::thread::sleep(POLL_INTERVAL);
        if world.is_calm.load(Ordering::Relaxed) {
            continue;
        }
        if Instant::now() > backend {
            backend = some(MEAN_TIME_TO_BACKEND_KILL);
            let backends = census::backends(world);
            if let Some(&pid) = backends.get(pick.below(backends.len() as u64) as usize) {
                pids::tell(pid, Word::Kill);
                world.counters.add(Count::KilledBackends);
            }
        }
        if Instant::now() > daemon {
            daemon = some(MEAN_TIME_TO_DAEMON_KILL);
            if let Some(pid) = census::daemon(world, true) {
                pids::tell(pid, Word::Kill);
                world.counters.add(Count::KilledDaemons);
            }
        }
    }
}
