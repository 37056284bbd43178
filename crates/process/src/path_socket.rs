//! A socket that has a path for an address: other programs on this machine may connect to it, if its file lets them.

pub use os::{PathListener, PathStream};

#[cfg(unix)]
mod os {
    use std::io;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};
    use tokio::net::{UnixListener, UnixStream};

    pub type PathStream = UnixStream;

    /// Listens there until it is dropped, and takes its file away then.
    pub struct PathListener {
        listener: UnixListener,
        path: PathBuf,
    }

    impl PathListener {
        /// For this user alone. What an earlier one left there is taken away, if nobody listens to it.
        pub fn bind(path: &Path) -> io::Result<Self> {
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
                        "there is a file that is no socket",
                    ));
                }
                Err(_) => {}
            }
            let listener = UnixListener::bind(path)?;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
            Ok(Self { listener, path: path.to_owned() })
        }

        pub async fn accept(&self) -> io::Result<PathStream> {
            self.listener.accept().await.map(|(stream, _)| stream)
        }
    }

    impl Drop for PathListener {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(windows)]
mod os {
    use std::io;
    use std::path::Path;

    /// There are none.
    pub type PathStream = tokio::io::DuplexStream;

    pub struct PathListener(std::convert::Infallible);

    impl PathListener {
        pub fn bind(_: &Path) -> io::Result<Self> {
            Err(io::Error::new(io::ErrorKind::Unsupported, "sockets with a path are for Unix"))
        }

        pub async fn accept(&self) -> io::Result<PathStream> {
            match self.0 {}
        }
    }
}
