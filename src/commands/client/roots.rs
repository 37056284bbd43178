//! Workspace folders that we report to servers: those of the command line, or the current folder.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Characters of a path that a URI must encode.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/').remove(b':');

/// Result of `roots/list`.
pub(super) fn list(given: &[PathBuf]) -> Value {
    let here = std::env::current_dir().ok();
    let folders: Vec<PathBuf> = match given {
        [] => here.into_iter().collect(),
        // The gateway reports folders that do not exist.
        given => given.iter().filter_map(|root| std::path::absolute(root).ok()).collect(),
    };
    let root = |folder: &PathBuf| {
        let name = folder.file_name().map(|name| name.to_string_lossy());
        json!({ "uri": uri(folder), "name": name.unwrap_or_default() })
    };
    json!({ "roots": folders.iter().map(root).collect::<Vec<_>>() })
}

/// The `file:` URI of a folder.
fn uri(folder: &Path) -> String {
    let path = folder.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    // A path with a drive letter does not start with a slash.
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!("file://{slash}{}", utf8_percent_encode(&path, ENCODED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_a_uri() {
        assert_eq!(uri(Path::new("/work/my app/é%")), "file:///work/my%20app/%C3%A9%25");
        assert_eq!(uri(Path::new("C:/work")), "file:///C:/work");
    }
}
