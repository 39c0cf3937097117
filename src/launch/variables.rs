//! The environment of a host: the person's own, without what could give away or change what a session is for, and with
//! exactly the variables that the server needs. Holds no secret: a file is named, never its content.

use std::ffi::{OsStr, OsString};

/// Settings of the broker that are the person's own and stay as they are.
const KEPT: [&str; 2] = ["KDNA_BROKER_STATE_DIR", "KDNA_BROKER_RUNTIME_PINS"];
/// Begins every variable that is ours: whatever else is set there was not set for this session.
const OURS: &[u8] = b"KDNA_";
/// Taken away: the first two put code of somebody else into every program that is started, the server that reads the
/// password included; the third names the directory that a password may have come from.
const TAKEN_AWAY: [&str; 3] = ["LD_PRELOAD", "LD_AUDIT", "CREDENTIALS_DIRECTORY"];

/// An environment.
pub type Variables = Vec<(OsString, OsString)>;

/// The person's variables that a host, or a command that gives a password, may have.
pub fn without_ours(inherited: &[(OsString, OsString)]) -> Variables {
    inherited.iter().filter(|(name, _)| passes(name)).cloned().collect()
}

/// The same, with these added.
pub fn for_host(inherited: &[(OsString, OsString)], added: &[(&str, &str)]) -> Variables {
    let added = added.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    without_ours(inherited).into_iter().chain(added).collect()
}

fn passes(name: &OsStr) -> bool {
    let is = |known: &&str| name == OsStr::new(known);
    let ours = name.as_encoded_bytes().starts_with(OURS) && !KEPT.iter().any(is);
    !ours && !TAKEN_AWAY.iter().any(is)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_gets_the_persons_environment_without_what_is_ours_and_with_what_is_added() {
        let inherited: Variables = [
            ("PATH", "/bin"),
            ("KDNA_PASSWORD", "x"),
            ("KDNA_MCP_HOST_ID", "forged"),
            ("KDNA_BROKER_SESSION", "/forged"),
            ("KDNA_BROKER_STATE_DIR", "/state"),
            ("LD_PRELOAD", "/x.so"),
            ("LD_AUDIT", "/x.so"),
            ("LD_LIBRARY_PATH", "/lib"),
            ("CREDENTIALS_DIRECTORY", "/run/credentials/x"),
            ("NODE_OPTIONS", "--max-old-space-size=4096"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec();
        let made = for_host(&inherited, &[("KDNA_MCP_HOST_ID", "mine")]);
        let names: Vec<_> =
            made.iter().map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap())).collect();
        assert_eq!(
            names,
            [
                ("PATH", "/bin"),
                ("KDNA_BROKER_STATE_DIR", "/state"),
                ("LD_LIBRARY_PATH", "/lib"),
                ("NODE_OPTIONS", "--max-old-space-size=4096"),
                ("KDNA_MCP_HOST_ID", "mine"),
            ]
        );
    }
}
