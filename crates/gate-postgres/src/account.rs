//! Who runs the server: ourselves, or, when we are root, an unprivileged user.

use std::fs;
use std::path::Path;

use rustix::process::{getegid, geteuid};

use crate::PostgresError;

const PASSWD: &str = "/etc/passwd";

/// Tried in this order when the gate is root and names nobody.
const DEFAULT_NAMES: &[&str] = &["postgres", "nobody"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// We are root, and become this account in the child.
    pub(crate) switch: bool,
}

impl Account {
    pub(crate) fn resolve(run_as: Option<&str>) -> Result<Self, PostgresError> {
        let uid = geteuid().as_raw();
        if uid != 0 {
            return Self::ourselves(uid, run_as);
        }
        let passwd =
            fs::read_to_string(PASSWD).map_err(PostgresError::io("read", Path::new(PASSWD)))?;
        let account = match run_as {
            Some(name) => lookup(&passwd, name),
            None => DEFAULT_NAMES.iter().find_map(|name| lookup(&passwd, name)),
        };
        let wanted = run_as.unwrap_or("postgres");
        let account =
            account.ok_or_else(|| PostgresError::UnknownUser { name: wanted.to_owned() })?;
        if account.uid == 0 {
            return Err(PostgresError::RunAsRoot { name: account.name });
        }
        Ok(account)
    }

    /// Without root there is no choice; naming ourselves is allowed.
    fn ourselves(uid: u32, run_as: Option<&str>) -> Result<Self, PostgresError> {
        if let Some(name) = run_as {
            let passwd = fs::read_to_string(PASSWD).unwrap_or_default();
            if lookup(&passwd, name).is_none_or(|account| account.uid != uid) {
                return Err(PostgresError::RunAsNeedsRoot { name: name.to_owned() });
            }
        }
        Ok(Self { name: uid.to_string(), uid, gid: getegid().as_raw(), switch: false })
    }
}

/// A name of the passwd file, or `uid:gid`.
fn lookup(passwd: &str, name: &str) -> Option<Account> {
    let account = |uid, gid| Account { name: name.to_owned(), uid, gid, switch: true };
    if let Some((uid, gid)) = name.split_once(':') {
        return Some(account(uid.parse().ok()?, gid.parse().ok()?));
    }
    let entry = passwd
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| fields[0] == name)?;
    Some(account(entry.get(2)?.parse().ok()?, entry.get(3)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "root:x:0:0:root:/root:/bin/sh\npostgres:x:101:104::/var/lib/postgresql:/bin/bash\nbroken\n";

    #[test]
    fn a_name_is_looked_up_in_the_passwd_file() {
        let account = lookup(SAMPLE, "postgres").unwrap();
        assert_eq!((account.uid, account.gid), (101, 104));
        assert_eq!(lookup(SAMPLE, "nobody"), None);
        assert_eq!(lookup(SAMPLE, "broken"), None);
    }

    #[test]
    fn a_user_without_a_name_is_written_as_numbers() {
        let account = lookup("", "70:71").unwrap();
        assert_eq!((account.uid, account.gid), (70, 71));
        assert_eq!(lookup("", "70:x"), None);
    }
}
