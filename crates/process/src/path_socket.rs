//! A socket with a path as its address: other programs on this machine may connect if the file's mode allows.
//! Must not know what is sent.

pub use os::{PathListener, PathStream};

#[cfg(unix)]
pub(crate) use os::listen_privately;

#[cfg(unix)]
mod os {
    use rustix::fs::Mode;
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen};
    use std::io;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixListener as Listener;
    use std::path::{Path, PathBuf};
    use tokio::net::{UnixListener, UnixStream};

    pub type PathStream = UnixStream;

    /// Listens until dropped, and then removes the socket's file.
    pub struct PathListener {
        listener: UnixListener,
        path: PathBuf,
    }

    impl PathListener {
        /// Listens for this user only. An abandoned socket at the path is replaced, unless a process still
        /// listens on it.
        pub fn bind(path: &Path) -> io::Result<Self> {
            // The file may be a leftover; only a connection shows that a process listens.
            if std::os::unix::net::UnixStream::connect(path).is_ok() {
                return Err(io::ErrorKind::AddrInUse.into());
            }
            match std::fs::symlink_metadata(path) {
                Ok(data) if std::os::unix::fs::FileTypeExt::is_socket(&data.file_type()) => {
                    std::fs::remove_file(path)?
                }
                Ok(_) => {
                    return Err(io::Error::new(
                        io::ErrorKind::AlreadyExists,
                        "the file exists and is not a socket",
                    ));
                }
                // No file, or none that we may see; the bind reports what is wrong.
                Err(_) => {}
            }
            let listener = listen_privately(path)?;
            listener.set_nonblocking(true)?;
            let listener = UnixListener::from_std(listener)?;
            Ok(Self { listener, path: path.to_owned() })
        }

        pub async fn accept(&self) -> io::Result<PathStream> {
            self.listener.accept().await.map(|(stream, _)| stream)
        }
    }

    /// Listens at a path that only this user can connect to, from its first moment.
    pub(crate) fn listen_privately(path: &Path) -> io::Result<Listener> {
        let socket = bound_privately(path)?;
        // The same queue length as the standard library's.
        listen(&socket, if cfg!(target_os = "macos") { 128 } else { -1 })?;
        Ok(socket.into())
    }

    /// On Linux the file gets the mode of the socket itself.
    #[cfg(target_os = "linux")]
    fn bound_privately(path: &Path) -> io::Result<OwnedFd> {
        use rustix::net::{SocketFlags, socket_with};
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        bind(&socket, &SocketAddrUnix::new(path)?)?;
        Ok(socket)
    }

    /// Uses the umask, which also affects files that another thread creates at this moment: they only become
    /// more private.
    #[cfg(not(target_os = "linux"))]
    fn bound_privately(path: &Path) -> io::Result<OwnedFd> {
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
        rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
        let before = rustix::process::umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
        let bound = SocketAddrUnix::new(path).and_then(|address| bind(&socket, &address));
        rustix::process::umask(before);
        bound?;
        Ok(socket)
    }

    impl Drop for PathListener {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    #[cfg(all(test, target_os = "linux"))]
    mod tests {
        use super::*;
        use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
        use std::os::unix::fs::PermissionsExt;

        /// Changing the mode afterwards would leave a moment in which others can connect.
        #[test]
        fn socket_file_begins_with_its_final_mode() {
            let folder = std::env::temp_dir().join(format!("path-socket-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            let watch = inotify::init(CreateFlags::NONBLOCK).unwrap();
            inotify::add_watch(&watch, &folder, WatchFlags::CREATE | WatchFlags::ATTRIB).unwrap();
            let path = folder.join("socket");
            let listener = listen_privately(&path).unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            assert!(std::os::unix::net::UnixStream::connect(&path).is_ok());
            drop(listener);
            let mut space = [std::mem::MaybeUninit::uninit(); 1024];
            let mut events = Reader::new(&watch, &mut space);
            let mut seen = Vec::new();
            while let Ok(event) = events.next() {
                seen.push(event.events());
            }
            assert_eq!(seen, [ReadFlags::CREATE], "nobody changes its mode later");
            std::fs::remove_dir_all(folder).unwrap();
        }
    }
}

#[cfg(windows)]
mod os {
    use std::io;
    use std::path::Path;

    /// Stand-in: Windows has no such sockets.
    pub type PathStream = tokio::io::DuplexStream;

    pub struct PathListener(std::convert::Infallible);

    impl PathListener {
        pub fn bind(_: &Path) -> io::Result<Self> {
            Err(io::Error::new(io::ErrorKind::Unsupported, "sockets with a path need Unix"))
        }

        pub async fn accept(&self) -> io::Result<PathStream> {
            match self.0 {}
        }
    }
}
