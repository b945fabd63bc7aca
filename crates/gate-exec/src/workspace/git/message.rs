//! What git's last words mean. Git has no error codes; the words are those of `LC_ALL=C`.

use gate_core::GitSource;

use super::super::error::SourceError;
use super::objects::Missing;

/// Said of the answer, not of a person.
const DETAIL_BYTES_MAX: usize = 500;

/// What a failed fetch says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The server has no such object.
    NoSuchCommit,
    /// The server only hands out what its branches and tags name, or cannot hand out less than all.
    OnlyByName,
    NoAccess,
    TooLarge,
    /// Our own mirror is no repository any more.
    Damaged,
    /// The host, the network, our own disk: what may be better next time.
    Unavailable,
}

/// In this order: the first that is found counts.
const WORDS: [(&str, Meaning); 22] = [
    ("No space left on device", Meaning::Unavailable),
    ("Disk quota exceeded", Meaning::Unavailable),
    ("File too large", Meaning::TooLarge),
    ("died of signal 25", Meaning::TooLarge),
    ("pack exceeds maximum allowed size", Meaning::TooLarge),
    ("Authentication failed", Meaning::NoAccess),
    ("could not read Username", Meaning::NoAccess),
    ("could not read Password", Meaning::NoAccess),
    ("Permission denied", Meaning::NoAccess),
    ("Host key verification failed", Meaning::NoAccess),
    ("The requested URL returned error: 401", Meaning::NoAccess),
    ("The requested URL returned error: 403", Meaning::NoAccess),
    ("fatal: not a git repository", Meaning::Damaged),
    ("fatal: bad object", Meaning::Damaged),
    ("is corrupt", Meaning::Damaged),
    ("error: could not read", Meaning::Damaged),
    ("not our ref", Meaning::NoSuchCommit),
    ("unadvertised object", Meaning::OnlyByName),
    ("not valid", Meaning::OnlyByName),
    ("couldn't find remote ref", Meaning::OnlyByName),
    ("does not support shallow", Meaning::OnlyByName),
    ("dumb http transport", Meaning::OnlyByName),
];

pub(super) fn meaning(words: &str) -> Meaning {
    let found = WORDS.iter().find(|(text, _)| words.contains(text));
    found.map_or(Meaning::Unavailable, |(_, meaning)| *meaning)
}

impl Meaning {
    pub(super) fn into_error(self, source: &GitSource, words: &str, limit: u64) -> SourceError {
        let url = without_credentials(source.url());
        match self {
            Self::NoSuchCommit | Self::OnlyByName => {
                SourceError::UnknownCommit { url, commit: source.commit().to_owned() }
            }
            Self::NoAccess => SourceError::NoAccess { detail: detail(source, words), url },
            Self::TooLarge => SourceError::TooLarge { limit, unit: "packed bytes" },
            Self::Damaged => Missing::Part.into(),
            Self::Unavailable => SourceError::Unavailable { detail: detail(source, words), url },
        }
    }
}

/// The telling lines of git's words, on one line, without what stands before an `@` in the URL.
fn detail(source: &GitSource, words: &str) -> String {
    let words = words.replace(source.url(), &without_credentials(source.url()));
    let telling =
        |it: &&str| ["fatal:", "error:", "remote:", "ssh:"].iter().any(|word| it.starts_with(word));
    let mut lines: Vec<&str> = words.lines().map(str::trim).filter(telling).collect();
    if lines.is_empty() {
        lines = words.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
    }
    lines.join("; ").chars().take(DETAIL_BYTES_MAX).collect()
}

/// The URL without user and password.
pub(super) fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_words_are_told_apart() {
        let cases = [
            ("fatal: remote error: upload-pack: not our ref 0123", Meaning::NoSuchCommit),
            ("error: Server does not allow request for unadvertised object 0", Meaning::OnlyByName),
            ("fatal: Authentication failed for 'https://x/'", Meaning::NoAccess),
            (
                "fatal: could not read Username for 'https://x': terminal prompts disabled",
                Meaning::NoAccess,
            ),
            ("git@x: Permission denied (publickey).", Meaning::NoAccess),
            ("fatal: write error: No space left on device", Meaning::Unavailable),
            (
                "fatal: unable to access 'https://x/': Could not resolve host: x",
                Meaning::Unavailable,
            ),
            ("fatal: cannot pread pack file: File too large", Meaning::TooLarge),
            ("", Meaning::Unavailable),
        ];
        for (words, expected) in cases {
            assert_eq!(meaning(words), expected, "{words}");
        }
    }

    #[test]
    fn credentials_are_never_told() {
        assert_eq!(without_credentials("https://u:p@h/x@y"), "https://h/x@y");
        assert_eq!(without_credentials("https://h/x"), "https://h/x");
        let url = "https://u:secret@h/x".to_owned();
        let source = GitSource::parse(url.clone(), "a".repeat(40), None).unwrap();
        let error = Meaning::Unavailable.into_error(
            &source,
            &format!("fatal: unable to access '{url}'"),
            0,
        );
        assert_eq!(
            error.to_string(),
            "the repository https://h/x could not be fetched: fatal: unable to access 'https://h/x'"
        );
    }
}
