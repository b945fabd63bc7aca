//! Which files a diff is about. More than that does no harm: they are looked up in the baseline.

use std::collections::BTreeSet;

/// The paths that git listed (`git apply --numstat -z`), and the sources of renames and copies, which it does not list.
pub(super) fn paths(listed: &[u8], diff: &str) -> BTreeSet<String> {
    let listed = listed.split(|it| *it == 0).filter_map(|record| {
        // Lines added, lines deleted, path.
        let path = record.splitn(3, |it| *it == b'\t').nth(2)?;
        String::from_utf8(path.to_vec()).ok()
    });
    let from = |line: &str| {
        let name = line.strip_prefix("rename from ").or_else(|| line.strip_prefix("copy from "));
        name.map(unquoted)
    };
    listed.chain(diff.lines().filter_map(from)).filter(|it| !it.is_empty()).collect()
}

/// A name as git quotes it in C's way where it has odd characters.
fn unquoted(name: &str) -> String {
    let Some(quoted) = name.strip_prefix('"').and_then(|it| it.strip_suffix('"')) else {
        return name.to_owned();
    };
    let mut bytes = Vec::new();
    let mut left = quoted.bytes();
    while let Some(byte) = left.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match left.next() {
            Some(first @ b'0'..=b'3') => {
                let digits = [first, left.next().unwrap_or(0), left.next().unwrap_or(0)];
                let digit = |value: u8, it: u8| value.wrapping_mul(8).wrapping_add(it & 7);
                bytes.push(digits.into_iter().fold(0, digit));
            }
            Some(b'a') => bytes.push(7),
            Some(b'b') => bytes.push(8),
            Some(b't') => bytes.push(b'\t'),
            Some(b'n') => bytes.push(b'\n'),
            Some(b'v') => bytes.push(11),
            Some(b'f') => bytes.push(12),
            Some(b'r') => bytes.push(b'\r'),
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_paths_and_sources_of_renames_are_touched() {
        let listed = b"1\t2\tsrc/a b\0-\t-\tbin\0";
        let diff =
            "diff --git a/x b/y\nrename from x\nrename to y\ncopy from \"t\\303\\244\\tb\"\n";
        let expected = ["bin", "src/a b", "t\u{e4}\tb", "x"].map(str::to_owned);
        assert_eq!(paths(listed, diff), BTreeSet::from(expected));
        assert_eq!(paths(b"", ""), BTreeSet::new());
    }

    #[test]
    fn a_name_that_is_quoted_badly_is_just_another_name() {
        for name in ["\"", "\"\\", "\"\\\"", "\"\\3\"", "\"\\37\"", "\"a"] {
            unquoted(name);
        }
        assert_eq!(unquoted("\"a\\\"b\\\\\""), "a\"b\\");
    }
}
