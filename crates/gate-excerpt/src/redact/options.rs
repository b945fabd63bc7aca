//! Passwords in the options of programs that take them there: `mysql -pSECRET`, `docker login -p SECRET`,
//! `curl -u user:SECRET`. The same letters mean other things elsewhere, so the program's name must stand before.

use std::ops::Range;

use super::class::{Class, is_place};
use super::places::Found;

/// Before the option. The masker keeps more than that of what it gave out.
pub(super) const COMMAND_BYTES_MAX: usize = 200;
/// Shorter is no secret.
const VALUE_BYTES_MIN: usize = 3;
/// Programs that take a password in the same word.
const JOINED: [&str; 7] =
    ["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump", "mariadb-admin"];

/// `-pSECRET` of a database's client, `-p SECRET` of a log-in.
pub(super) fn password(text: &[u8], mark: Range<usize>) -> Found {
    if &text[mark.clone()] != b" -p" {
        return None;
    }
    let words = words(text, mark.start);
    let next = text.get(mark.end)?;
    if matches!(next, b' ' | b'=') {
        let is_login =
            words.windows(2).any(|it| matches!(it[0], "docker" | "podman") && it[1] == "login");
        let takes = is_login || words.contains(&"sshpass");
        return takes.then(|| value(text, mark.end + 1)).flatten();
    }
    let takes = words.iter().any(|it| JOINED.contains(it)) || words.contains(&"sshpass");
    takes.then(|| value(text, mark.end)).flatten()
}

/// `-u user:SECRET` of curl.
pub(super) fn user(text: &[u8], mark: Range<usize>) -> Found {
    let option = &text[mark.clone()];
    if !matches!(option, b" -u" | b" --user") || !words(text, mark.start).contains(&"curl") {
        return None;
    }
    let is_long = option.len() > 3;
    let start = match text.get(mark.end)? {
        b' ' | b'=' => mark.end + 1,
        _ if is_long => return None,
        _ => mark.end,
    };
    let start = start + usize::from(matches!(text.get(start), Some(b'"' | b'\'')));
    let limit = text.len().min(start + COMMAND_BYTES_MAX);
    let rest = text.get(start..limit)?;
    let colon = rest.iter().position(|it| *it == b':' || !Class::Value.has(*it))?;
    (rest[colon] == b':').then(|| value(text, start + colon + 1)).flatten()
}

fn value(text: &[u8], start: usize) -> Found {
    let start = start + usize::from(matches!(text.get(start), Some(b'"' | b'\'' | b'`')));
    let bytes = Class::Value.run(text.get(start..)?);
    let value = &text[start..start + bytes];
    (bytes >= VALUE_BYTES_MIN && !is_place(value)).then(|| (start..start + bytes, Class::Value))
}

/// The words of the same command, programs without their directories.
fn words(text: &[u8], end: usize) -> Vec<&str> {
    let line = &text[end.saturating_sub(COMMAND_BYTES_MAX)..end];
    let is_end = |it: &u8| matches!(it, b'\n' | b'\r' | b'|' | b';' | b'&' | b'(');
    let start = line.iter().rposition(is_end).map_or(0, |it| it + 1);
    let words = line[start..].split(|it| !Class::Value.has(*it));
    let name = |it| std::str::from_utf8(it).ok().and_then(|it| it.rsplit('/').next());
    words.filter_map(name).filter(|it| !it.is_empty()).collect()
}
