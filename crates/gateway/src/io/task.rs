//! Named background tasks. A panic in any of them ends the process: see `prepare_process`.

use tokio::task::JoinHandle;

/// All names, so that a test can make each task fail.
pub const NAMES: [&str; 33] = [
    "accepting",
    "accounting",
    "attachment",
    "backend",
    "connection",
    "ending",
    "exchange",
    "following",
    "forgetting",
    "input",
    "lending",
    "link",
    "listening",
    "lookup",
    "offer",
    "record",
    "parting",
    "measuring",
    "outbox",
    "output",
    "reading",
    "remains",
    "serving",
    "stderr",
    "sweeping",
    "slow",
    "tidying",
    "time",
    "tokens",
    "visiting",
    "watching",
    "welcoming",
    "words",
];

/// Spawns a task. In debug builds, `SWITCHBOARD_PANIC_IN=NAME@FILE` makes that task panic
/// once the file exists, with its content, for tests.
pub(crate) fn spawn<F>(name: &'static str, future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    #[cfg(debug_assertions)]
    if let Some(file) = doom(name) {
        return tokio::spawn(async move {
            let doom = exists(&file);
            tokio::select! {
                // Even a task that has ended panics: it may have been quick.
                _ = future => exists(&file).await,
                () = doom => {}
            }
            let why = std::fs::read_to_string(&file).unwrap_or_default();
            panic!("asked for in the task `{name}`: {why}");
        });
    }
    #[cfg(not(debug_assertions))]
    let _ = name;
    tokio::spawn(future)
}

#[cfg(debug_assertions)]
fn doom(name: &str) -> Option<std::path::PathBuf> {
    debug_assert!(NAMES.contains(&name), "`{name}` is to be in the list");
    let wish = std::env::var("SWITCHBOARD_PANIC_IN").ok()?;
    let (wanted, file) = wish.split_once('@')?;
    (wanted == name).then(|| file.into())
}

#[cfg(debug_assertions)]
async fn exists(file: &std::path::Path) {
    while !file.exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}
