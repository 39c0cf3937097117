//! Recorded and given output as ordered documents, JSON pointers into them, and where two differ.

use kdna_broker::foundation::json::{read_strict, write};
use kdna_broker::foundation::value::{Object, Value};

const DEPTH: usize = 100;

/// Reads a document of the repository or of a program.
pub(crate) fn parse(bytes: &[u8]) -> Option<Value> {
    read_strict(bytes, DEPTH).ok()
}

/// The output of `kdna`: a document, or plain text.
pub(crate) fn command_output(bytes: &[u8]) -> Value {
    parse(bytes).unwrap_or_else(|| Value::from(String::from_utf8_lossy(bytes).into_owned()))
}

/// The output of the server: one document a line; the text of a tool result is read as a document too.
pub(crate) fn server_output(bytes: &[u8]) -> Value {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    Value::Array(lines.map(server_line).collect())
}

fn server_line(line: &[u8]) -> Value {
    const TEXT: &str = "/result/content/0/text";
    let Some(message) = parse(line) else {
        return Value::object([("not_json", Value::from(String::from_utf8_lossy(line).into_owned()))]);
    };
    let inner = at(&message, TEXT).and_then(Value::as_str).and_then(|text| parse(text.as_bytes()));
    match inner {
        Some(inner) => with(message, TEXT, Some(inner)),
        None => message,
    }
}

/// What is wrong with the layout of the server's lines: each must be one compact document.
pub(crate) fn server_layout(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let compact = |line: &str| parse(line.as_bytes()).and_then(|value| write::compact(&value).ok());
    let bad = text.split_terminator('\n').position(|line| compact(line).as_deref() != Some(line));
    match bad {
        Some(line) => Some(format!("line {line} is not one compact document")),
        None if !text.is_empty() && !text.ends_with('\n') => Some("the last line is not ended".to_owned()),
        None => None,
    }
}

/// What is wrong with the layout of a command's document: two spaces a level and a final newline.
pub(crate) fn command_layout(bytes: &[u8]) -> Option<String> {
    let pretty = parse(bytes).and_then(|value| write::pretty(&value).ok())?;
    (pretty.as_bytes() != bytes).then(|| "the document is not laid out as recorded".to_owned())
}

/// The value at a JSON pointer (`""` is the whole document).
pub(crate) fn at<'a>(document: &'a Value, pointer: &str) -> Option<&'a Value> {
    keys(pointer).try_fold(document, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        other => other.get(key),
    })
}

/// The document with another value at the pointer, or (`None`) without what is there. Unchanged if nothing is there,
/// unless only the last key is missing from a map.
pub(crate) fn with(document: Value, pointer: &str, new: Option<Value>) -> Value {
    let keys: Vec<&str> = keys(pointer).collect();
    replace(document, &keys, new).unwrap_or(Value::Null)
}

fn replace(document: Value, keys: &[&str], new: Option<Value>) -> Option<Value> {
    let Some((key, rest)) = keys.split_first() else { return new };
    Some(match document {
        Value::Array(items) => {
            let place = key.parse::<usize>().unwrap_or(usize::MAX);
            let change = |(at, item)| if at == place { replace(item, rest, new.clone()) } else { Some(item) };
            Value::Array(items.into_iter().enumerate().filter_map(change).collect())
        }
        Value::Object(mut object) => {
            match object.get(key).cloned() {
                Some(inner) => match replace(inner, rest, new) {
                    Some(inner) => drop(object.insert((*key).to_owned(), inner)),
                    None => drop(object.remove(key)),
                },
                None => {
                    if let (true, Some(new)) = (rest.is_empty(), new) {
                        object.insert((*key).to_owned(), new);
                    }
                }
            }
            Value::Object(object)
        }
        other => other,
    })
}

fn keys(pointer: &str) -> impl Iterator<Item = &str> {
    pointer.split('/').skip(1)
}

/// Every place where two documents differ, order of keys included.
pub(crate) fn differences(recorded: &Value, given: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(recorded, given, "", &mut found);
    found
}

fn compare(recorded: &Value, given: &Value, at: &str, found: &mut Vec<String>) {
    match (recorded, given) {
        (Value::Object(recorded), Value::Object(given)) => compare_objects(recorded, given, at, found),
        (Value::Array(recorded), Value::Array(given)) if recorded.len() == given.len() => {
            for (place, (recorded, given)) in recorded.iter().zip(given).enumerate() {
                compare(recorded, given, &format!("{at}/{place}"), found);
            }
        }
        (recorded, given) if recorded == given => {}
        (recorded, given) => found.push(format!("{at}: recorded {}, given {}", short(recorded), short(given))),
    }
}

fn compare_objects(recorded: &Object, given: &Object, at: &str, found: &mut Vec<String>) {
    let missing = recorded.keys().filter(|key| !given.contains_key(key));
    let added = given.keys().filter(|key| !recorded.contains_key(key));
    let before = found.len();
    found.extend(missing.map(|key| format!("{at}/{key}: missing")));
    found.extend(added.map(|key| format!("{at}/{key}: not recorded")));
    if found.len() == before && !recorded.keys().eq(given.keys()) {
        found.push(format!("{at}: order of keys"));
    }
    for (key, recorded) in recorded.iter() {
        if let Some(given) = given.get(key) {
            compare(recorded, given, &format!("{at}/{key}"), found);
        }
    }
}

/// A value for a message, cut.
pub(crate) fn short(value: &Value) -> String {
    let text = write::compact(value).unwrap_or_default();
    match text.char_indices().nth(160) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
