//! The known name that a mistyped one was probably meant to be: a tool, a server, a subcommand.

/// Comparing a longer name would take long, and it is no typing mistake.
const LONGEST: usize = 200;

/// The known name that is most like this one, with or without the server's prefix.
pub(crate) fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    if name.len() > LONGEST {
        return None;
    }
    let plain = |name: &str| name.replace(['_', '-', '.'], "").to_lowercase();
    let wanted = plain(name);
    let distance = |known: &str| {
        let own = known.split_once("__").map_or(known, |(_, own)| own);
        [known, own].map(|known| strsim::osa_distance(&wanted, &plain(known))).into_iter().min()
    };
    let near = known.iter().filter_map(|known| Some((known.as_str(), distance(known)?)));
    let (near, distance) = near.min_by_key(|(_, distance)| *distance)?;
    let length = wanted.chars().count();
    // A word in which every letter differs is another word.
    (distance <= length.div_ceil(3) && distance < length).then_some(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_with_and_without_their_server() {
        let known = ["github__search_code", "files__read_file", "echo"].map(str::to_owned);
        for (name, expect) in [
            ("github__serch_code", Some("github__search_code")),
            ("search-code", Some("github__search_code")),
            ("readFile", Some("files__read_file")),
            ("ecoh", Some("echo")),
            ("something", None),
            ("e", None),
        ] {
            assert_eq!(nearest(name, &known), expect, "{name}");
        }
        assert_eq!(nearest("x", &[]), None);
    }
}
