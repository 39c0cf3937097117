//! The two text formats of the manifest: `uri` and `date-time`, with the reference's reading of both.

use crate::foundation::text::is_javascript_whitespace;
use crate::foundation::time::days_in_month;
use core::net::Ipv6Addr;

/// Whether a text has a format. A format that is not known is had by nothing.
pub(super) fn matches(name: &str, text: &str) -> bool {
    match name {
        "uri" => is_uri(text),
        "date-time" => is_date_time(text).unwrap_or(false),
        _ => false,
    }
}

fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (part, query) = rest.split_once('?').unwrap_or((rest, ""));
    is_scheme(scheme)
        && (is_path(part) || has_literal_host(part))
        && is_made_of(query, b":@/?")
        && is_made_of(fragment, b":@/?")
}

fn is_scheme(scheme: &str) -> bool {
    scheme.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-'))
}

/// Everything after the scheme that needs no brackets: an authority with a name or an address is made of the same
/// characters as a path, so any non-empty run of them is accepted.
fn is_path(part: &str) -> bool {
    !part.is_empty() && is_made_of(part, b":@/")
}

/// One or two slashes, perhaps a user, a bracketed address, perhaps a port, then a path.
fn has_literal_host(hierarchy: &str) -> bool {
    let Some(rest) = hierarchy.strip_prefix("//").or_else(|| hierarchy.strip_prefix('/')) else { return false };
    let Some((user, rest)) = rest.split_once('[') else { return false };
    let Some((host, tail)) = rest.split_once(']') else { return false };
    let (port, path) = tail.find('/').and_then(|at| tail.split_at_checked(at)).unwrap_or((tail, ""));
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    (user.is_empty() || user.strip_suffix('@').is_some_and(|user| is_made_of(user, b":")))
        && (host.parse::<Ipv6Addr>().is_ok() || is_future_literal(host))
        && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
        && is_made_of(path, b":@/")
}

fn is_future_literal(host: &str) -> bool {
    let Some((version, address)) = host.strip_prefix(['v', 'V']).and_then(|rest| rest.split_once('.')) else {
        return false;
    };
    !version.is_empty()
        && version.bytes().all(|byte| byte.is_ascii_hexdigit())
        && !address.is_empty()
        && !address.contains('%')
        && is_made_of(address, b":")
}

/// Unreserved characters, sub-delimiters, `%hh`, and the given others.
fn is_made_of(text: &str, others: &[u8]) -> bool {
    let mut bytes = text.bytes();
    let is_hex = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_hexdigit());
    while let Some(byte) = bytes.next() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte) || others.contains(&byte);
        let mut encoded = || byte == b'%' && is_hex(bytes.next()) && is_hex(bytes.next());
        if !(plain || encoded()) {
            return false;
        }
    }
    true
}

/// A calendar date and a time with a zone, split by one `T`, `t` or whitespace character.
fn is_date_time(text: &str) -> Option<bool> {
    let mut parts = text.split(|character| matches!(character, 'T' | 't') || is_javascript_whitespace(character));
    let (date, time) = (parts.next()?, parts.next()?);
    Some(parts.next().is_none() && is_date(date)? && is_time(time)?)
}

/// A number of exactly this many digits at the start, and what follows it.
fn digits(text: &str, count: usize) -> Option<(i64, &str)> {
    let (number, rest) = text.split_at_checked(count)?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    Some((number.parse().ok()?, rest))
}

fn is_date(date: &str) -> Option<bool> {
    let (year, rest) = digits(date, 4)?;
    let (month, rest) = digits(rest.strip_prefix('-')?, 2)?;
    let (day, rest) = digits(rest.strip_prefix('-')?, 2)?;
    Some(rest.is_empty() && (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day))
}

fn is_time(time: &str) -> Option<bool> {
    let (hour, rest) = digits(time, 2)?;
    let (minute, rest) = digits(rest.strip_prefix(':')?, 2)?;
    let (second, rest) = digits(rest.strip_prefix(':')?, 2)?;
    let offset = zone_minutes(after_fraction(rest)?)?;
    let leap = second == 60 && (hour * 60 + minute - offset).rem_euclid(1440) == 1439;
    Some(hour <= 23 && minute <= 59 && (second < 60 || leap))
}

/// What follows an optional fraction of a second, which has at least one digit.
fn after_fraction(rest: &str) -> Option<&str> {
    let Some(fraction) = rest.strip_prefix('.') else { return Some(rest) };
    let zone = fraction.trim_start_matches(|character: char| character.is_ascii_digit());
    (zone.len() < fraction.len()).then_some(zone)
}

fn zone_minutes(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let (hour, rest) = digits(zone.strip_prefix(['+', '-'])?, 2)?;
    let minute = if rest.is_empty() {
        0
    } else {
        let (minute, rest) = digits(rest.strip_prefix(':').unwrap_or(rest), 2)?;
        rest.is_empty().then_some(minute)?
    };
    (hour <= 23 && minute <= 59).then_some(sign * (hour * 60 + minute))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_the_reference_reads_them() {
        for good in [
            "x:y",
            "x:/",
            "x://",
            "x:///",
            "urn:%41",
            "http://[::1]/",
            "http://[v1.a]/",
            "http://u@[::1]:80/a?b#c",
            "x://a@b@c",
            "http:/[::1]",
            "HTTP://EX.com:80/a?b#c",
            "http://[::ffff:1.2.3.4]",
            "a+b.c-d:e",
            "x:a?#",
            "x:a:b",
        ] {
            assert!(is_uri(good), "{good}");
        }
        for bad in [
            "urn:",
            "x:?",
            "x:#",
            "urn:%zz",
            "urn:%4",
            "http://a b",
            "urn:é",
            "urn:a\"b",
            "urn:a^b",
            "a",
            "a/b",
            ":x",
            "1x:y",
            "http://[::1",
            "http://[1]/",
            "http://[::1]x",
            "http://x[::1]",
            "x:[::1]",
            "x:a##",
            "http://[v1.%41]",
            "x:a\n",
            "é:x",
        ] {
            assert!(!is_uri(bad), "{bad}");
        }
    }

    #[test]
    fn instants_are_read_as_the_reference_reads_them() {
        let is_instant = |text: &str| matches("date-time", text);
        for good in [
            "2026-01-02T03:04:05Z",
            "2026-01-02t03:04:05z",
            "2026-01-02 03:04:05Z",
            "2026-01-02\n03:04:05Z",
            "2026-01-02T03:04:05+08:00",
            "2026-01-02T03:04:05+0800",
            "2026-01-02T03:04:05+08",
            "2024-02-29T00:00:00Z",
            "2026-01-02T23:59:60Z",
            "2026-01-02T22:59:60-01:00",
            "2026-01-02T00:29:60.5+00:30",
            "2026-01-02T03:04:05.123456Z",
        ] {
            assert!(is_instant(good), "{good}");
        }
        for bad in [
            "2026-01-02T03:04:05",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-02T23:59:61Z",
            "2026-01-02T24:00:00Z",
            "2026-01-02T03:04:05.Z",
            "2026-01-02T03:04Z",
            "2026-1-02T03:04:05Z",
            "2026-01-02",
            "2026-01-02T03:04:05+24:00",
            "2026-01-02T03:04:05+08:",
            "2026-01-02T03:04:05+8",
            "2026-01-02T22:59:60Z",
            "2026-01-02  03:04:05Z",
            "2026-01-02T03:04:05Z ",
            "٢026-01-02T03:04:05Z",
            "",
        ] {
            assert!(!is_instant(bad), "{bad}");
        }
    }
}
