//! A folder that goes with its test.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// An empty folder of one's own, removed when this is dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Scratch {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("switchboard-test-{}-{number}", std::process::id()));
        // A left-over of an earlier process with the same number.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder for temporary files is writable");
        // As the programs that are started will see it: no links on the way.
        Self(folder.canonicalize().expect("the folder was just made"))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A folder inside.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(&path).expect("a folder inside a scratch folder can be made");
        path
    }

    /// A file inside, with this content.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).expect("a folder inside a scratch folder can be made");
        }
        fs::write(&path, content).expect("a file inside a scratch folder can be written");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
