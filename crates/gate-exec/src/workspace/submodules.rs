//! What `.gitmodules` says should be there. In an archive or a copy nothing else tells that files are missing.

/// A longer list is nobody's.
pub(super) const GITMODULES_BYTES_MAX: u64 = 256 * 1024;
pub(super) const GITMODULES: &str = ".gitmodules";

/// The paths of the submodules, as git's configuration files are written.
pub(super) fn paths(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    text.lines().filter_map(path).collect()
}

fn path(line: &str) -> Option<String> {
    let (name, value) = line.split_once('=')?;
    // A section may stand on the same line.
    let name = name.rsplit(']').next().unwrap_or(name);
    if !name.trim().eq_ignore_ascii_case("path") {
        return None;
    }
    let value = value.trim();
    let quoted = value.strip_prefix('"').and_then(|it| it.split_once('"')).map(|(it, _)| it);
    let plain = value.split(['#', ';']).next().unwrap_or(value).trim();
    Some(quoted.unwrap_or(plain).trim_matches('/').to_owned()).filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_of_submodules_are_read() {
        let text = b"[submodule \"a\"]\n\tpath = vendor/a\n\turl = https://git.example/a\n\
            [submodule \"b b\"]\npath=\"vendor/b b\"\n[submodule \"c\"] path = c ; note\n\
            # path = none\nbranch = path\n\tPath = d/\n";
        assert_eq!(paths(text), ["vendor/a", "vendor/b b", "c", "d"]);
        assert_eq!(paths(b""), [""; 0]);
        assert_eq!(paths(b"path =\n\xff\xfe=path"), [""; 0]);
    }
}
