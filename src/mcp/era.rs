//! What one request says about the revision it is written in. Revision 2026-07-28 has no handshake: each request names
//! it in `_meta`. Of `_meta` nothing else is read: a client makes it, and it gives no authority.

use super::envelope::{Members, text_of};
use super::reply::Fault;
use super::revisions::Revision;

/// The method that only the stateless revision has, and that it obliges a server to have.
pub(crate) const DISCOVER: &str = "server/discover";
/// Where a request names its revision.
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Where it says what the client can do: an object, required, and of no use to this server.
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The longest name of a revision that is quoted, in characters.
const QUOTED_CHARACTERS: usize = 64;

/// The stateless revision if the request names it, `None` if the handshake decides.
///
/// Refused: as invalid a `_meta` that repeats a key, and a request of the stateless kind without one of
/// its two members or with one of another type; as unsupported a revision that cannot be named so. `server/discover` is
/// of the stateless kind whatever it carries.
pub(crate) fn named(method: &str, params: &Members<'_>) -> Result<Option<Revision>, Fault> {
    let meta = params.get("_meta").map_or("{}", |raw| raw.get());
    if !meta.starts_with('{') {
        // What is no object names nothing, and the older revisions never looked at it.
        return if method == DISCOVER { Err(Fault::InvalidParams) } else { Ok(None) };
    }
    let meta = Members::read(meta).filter(Members::are_distinct).ok_or(Fault::InvalidParams)?;
    let (version, capabilities) = (meta.get(PROTOCOL_VERSION), meta.get(CLIENT_CAPABILITIES));
    if version.is_none() && capabilities.is_none() && method != DISCOVER {
        return Ok(None);
    }
    let version = version.and_then(|raw| text_of(raw.get())).ok_or(Fault::InvalidParams)?;
    // The version first: what else a request must carry is for its revision to say.
    let revision = Revision::stateless(&version).ok_or_else(|| Fault::UnsupportedVersion(quotable(&version)))?;
    let able = capabilities.is_some_and(|raw| raw.get().starts_with('{'));
    if able { Ok(Some(revision)) } else { Err(Fault::InvalidParams) }
}

/// What may be quoted of the name of a revision: all of it if it is short and of printable ASCII, else nothing. A part
/// would be another name.
fn quotable(version: &[u8]) -> String {
    let plain = version.len() <= QUOTED_CHARACTERS && version.iter().all(|byte| matches!(byte, b' '..=b'~'));
    if plain { String::from_utf8_lossy(version).into_owned() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named_in(method: &str, meta: &str) -> Result<Option<Revision>, Fault> {
        named(method, &Members::read(&format!(r#"{{"_meta":{meta}}}"#)).unwrap())
    }

    fn pair(version: &str, capabilities: &str) -> String {
        format!(r#"{{"{PROTOCOL_VERSION}":{version},"{CLIENT_CAPABILITIES}":{capabilities}}}"#)
    }

    #[test]
    fn a_request_is_stateless_only_by_both_members_and_of_the_handshake_only_without_either() {
        assert_eq!(named_in("ping", &pair(r#""2026-07-28""#, "{}")), Ok(Some(Revision::STATELESS)));
        assert_eq!(named_in("ping", &pair(r#""2026\u002d07-28""#, r#"{"roots":{}}"#)), Ok(Some(Revision::STATELESS)));
        for none in ["{}", r#"{"progressToken":0}"#, r#"{"io.modelcontextprotocol/clientInfo":7}"#] {
            assert_eq!(named_in("ping", none), Ok(None), "{none}");
            assert_eq!(named_in(DISCOVER, none), Err(Fault::InvalidParams), "{none}");
        }
        assert_eq!(named("ping", &Members::read("{}").unwrap()), Ok(None));
        for half in [
            format!(r#"{{"{PROTOCOL_VERSION}":"2026-07-28"}}"#),
            format!(r#"{{"{CLIENT_CAPABILITIES}":{{}}}}"#),
            pair("null", "{}"),
            pair("20260728", "{}"),
            pair(r#"["2026-07-28"]"#, "{}"),
            pair(r#""2026-07-28""#, "null"),
            pair(r#""2026-07-28""#, "[]"),
            pair(r#""2026-07-28""#, r#""{}""#),
            format!(r#"{{"{PROTOCOL_VERSION}":"2026-07-28","{CLIENT_CAPABILITIES}":{{}},"a":1,"\u0061":1}}"#),
            r#"{"a":1,"a":1}"#.to_owned(),
        ] {
            assert_eq!(named_in("ping", &half), Err(Fault::InvalidParams), "{half}");
        }
        for nothing in ["null", "[]", "7", r#""2026-07-28""#] {
            assert_eq!(named_in("ping", nothing), Ok(None), "{nothing}: as before there was such a revision");
            assert_eq!(named_in(DISCOVER, nothing), Err(Fault::InvalidParams), "{nothing}");
        }
    }

    #[test]
    fn another_version_is_unsupported_whatever_else_is_there_and_quoted_only_if_it_is_short_and_plain() {
        let quoted = |version: &str, capabilities: &str| match named_in("tools/call", &pair(version, capabilities)) {
            Err(Fault::UnsupportedVersion(quoted)) => quoted,
            other => panic!("{other:?}"),
        };
        for plain in ["2025-11-25", "2027-01-01", "2026-07-28 ", "", "<&'>", &"9".repeat(64)] {
            assert_eq!(quoted(&format!("\"{plain}\""), "{}"), plain);
        }
        assert_eq!(quoted(r#""\"\\""#, "null"), r#""\"#);
        for hidden in [r"a\u0000", r"a\n", r"\u007f", r"\ud800", "\u{202e}x", "é", &"9".repeat(65)] {
            assert_eq!(quoted(&format!("\"{hidden}\""), "{}"), "", "{hidden}");
        }
        let alone = named_in("ping", &format!(r#"{{"{PROTOCOL_VERSION}":"2027-01-01"}}"#));
        assert_eq!(alone, Err(Fault::UnsupportedVersion("2027-01-01".to_owned())));
    }
}
