//! A folder that is removed with its test, after the end of every daemon that was started there.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Path of the state folder in a home, unless a variable overrides it.
const STATE: &str = ".local/state/switchboard";

/// An empty folder. When this is dropped, the daemons that serve a config file in it are stopped, and it is
/// removed.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// A reference: another value stops the daemons and removes the folder.
    is_lent: bool,
}

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
        // Left over from an earlier process with the same pid.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder for temporary files is writable");
        // Without links, as the started programs will see it.
        Self { path: folder.canonicalize().expect("the folder was just made"), is_lent: false }
    }

    /// The same folder for one more program.
    pub fn lent(&self) -> Self {
        Self { path: self.path.clone(), is_lent: true }
    }

    /// The current folder, for a program that needs none of its own.
    pub fn here() -> Self {
        Self { path: PathBuf::from("."), is_lent: true }
    }

    pub fn is_lent(&self) -> bool {
        self.is_lent
    }

    /// Keeps the folder, for a person to inspect.
    pub fn keep(mut self) {
        self.is_lent = true;
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A folder inside.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(&path).expect("a folder inside a scratch folder can be made");
        path
    }

    /// The home folder of programs that are started here.
    pub fn home(&self) -> PathBuf {
        self.folder("home")
    }

    /// A file in the state folder of those programs.
    pub fn state(&self, name: &str) -> PathBuf {
        state_in(&self.join("home")).join(name)
    }

    /// The folder for sockets, as a login makes it: closed to all others.
    pub fn runtime(&self) -> PathBuf {
        // The length of a socket path is limited.
        let path = self.folder("run");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let closed = fs::Permissions::from_mode(0o700);
            fs::set_permissions(&path, closed).expect("the folder was just made");
        }
        path
    }

    /// Stops the daemons whose config file is in this folder, and waits for their end.
    #[cfg(unix)]
    pub fn stop_daemons(&self) {
        crate::daemons::stop(&self.path);
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

    /// A path under which every user can run this program: its own, or that of a copy in this folder.
    #[cfg(unix)]
    pub fn lend(&self, program: &Path) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let is_open =
            |path: &Path| fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o001 != 0);
        let copy = self.join(&program.file_name().unwrap_or_default().to_string_lossy());
        if program.ancestors().all(|path| path.as_os_str().is_empty() || is_open(path)) {
            return program.to_owned();
        }
        if !copy.exists() {
            fs::copy(program, &copy).expect("a program can be copied into a scratch folder");
        }
        copy
    }

    /// Makes another user the owner of this folder and its content. Only for root.
    #[cfg(unix)]
    pub fn give_to(&self, user: u32) {
        use std::os::unix::fs::{PermissionsExt, chown};
        fn give(path: &Path, user: u32) {
            chown(path, Some(user), Some(user)).expect("root may give away what it owns");
            // Links are not followed: they may lead out of the folder.
            if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                fs::read_dir(path)
                    .into_iter()
                    .flatten()
                    .flatten()
                    .for_each(|entry| give(&entry.path(), user));
            }
        }
        give(&self.path, user);
        // Folders made by `mktemp` are closed to other users.
        let above = self.path.parent().expect("a scratch folder lies in another");
        if let Ok(mode) = fs::metadata(above).map(|meta| meta.permissions().mode())
            && mode & 0o001 == 0
        {
            let _ = fs::set_permissions(above, fs::Permissions::from_mode(mode | 0o001));
        }
    }
}

/// The state folder of programs with this home.
pub fn state_in(home: &Path) -> PathBuf {
    home.join(STATE)
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.is_lent {
            return;
        }
        #[cfg(unix)]
        self.stop_daemons();
        let _ = fs::remove_dir_all(&self.path);
    }
}
