//! Just enough of the ELF format to learn which loader and libraries a program asks for. Reads untrusted bytes with
//! checked offsets; loads and runs nothing.

const CLASS_64_LITTLE: [u8; 6] = [0x7f, b'E', b'L', b'F', 2, 1];
#[cfg(target_arch = "x86_64")]
const MACHINE: u64 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u64 = 183;

const HEADER_BYTES: usize = 56;
const SEGMENTS: usize = 4096;
const LOADED: u64 = 1;
const DYNAMIC: u64 = 2;
const LOADER: u64 = 3;
const NEEDED: u64 = 1;
const NAMES: u64 = 5;
const RPATH: u64 = 15;
const RUNPATH: u64 = 29;

/// What a program asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// The loader's path.
    pub(super) loader: Option<String>,
    /// Names of libraries.
    pub(super) needed: Vec<String>,
    /// Directories to look in first, as written.
    pub(super) search: Vec<String>,
}

/// `None` if the bytes are no program or library of this machine.
pub(super) fn read(bytes: &[u8]) -> Option<Asked> {
    let file = File(bytes);
    let machine = file.number(18, 2)?;
    let kind = file.number(16, 2)?;
    if !bytes.starts_with(&CLASS_64_LITTLE) || machine != MACHINE || !matches!(kind, 2 | 3) {
        return None;
    }
    let (start, size, count) = (file.offset(32)?, file.number(54, 2)?, file.number(56, 2)?);
    let (size, count) = (usize::try_from(size).ok()?, usize::try_from(count).ok()?);
    if size < HEADER_BYTES || count > SEGMENTS {
        return None;
    }
    let segments = (0..count)
        .map(|at| Segment::read(file, start.checked_add(at.checked_mul(size)?)?))
        .collect::<Option<Vec<_>>>()?;
    let mut asked = Asked::default();
    if let Some(loader) = segments.iter().find(|segment| segment.kind == LOADER) {
        asked.loader = Some(file.text(loader.offset)?);
    }
    if let Some(dynamic) = segments.iter().find(|segment| segment.kind == DYNAMIC) {
        dynamic_section(file, *dynamic, &segments, &mut asked)?;
    }
    Some(asked)
}

fn dynamic_section(file: File<'_>, dynamic: Segment, segments: &[Segment], asked: &mut Asked) -> Option<()> {
    let entry = |at: usize| {
        let at = dynamic.offset.checked_add(at.checked_mul(16)?)?;
        Some((file.number(at, 8)?, file.number(at.checked_add(8)?, 8)?))
    };
    let entries: Vec<(u64, u64)> = (0..dynamic.length / 16)
        .map(entry)
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .take_while(|(tag, _)| *tag != 0)
        .collect();
    let Some((_, address)) = entries.iter().find(|(tag, _)| *tag == NAMES) else { return Some(()) };
    let names = segments.iter().find_map(|segment| segment.place_of(*address))?;
    let name = |value: u64| file.text(names.checked_add(usize::try_from(value).ok()?)?);
    for (tag, value) in entries {
        match tag {
            NEEDED => asked.needed.push(name(value)?),
            RPATH | RUNPATH => asked.search.extend(name(value)?.split(':').map(str::to_owned)),
            _ => {}
        }
    }
    Some(())
}

#[derive(Clone, Copy)]
struct File<'a>(&'a [u8]);

impl File<'_> {
    /// A little-endian number of up to eight bytes.
    fn number(self, at: usize, length: usize) -> Option<u64> {
        let bytes = self.0.get(at..at.checked_add(length)?)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn offset(self, at: usize) -> Option<usize> {
        usize::try_from(self.number(at, 8)?).ok()
    }

    /// A text that ends with NUL.
    fn text(self, at: usize) -> Option<String> {
        let rest = self.0.get(at..)?;
        let rest = rest.get(..rest.len().min(4096))?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        std::str::from_utf8(rest.get(..end)?).ok().map(str::to_owned)
    }
}

#[derive(Clone, Copy)]
struct Segment {
    kind: u64,
    offset: usize,
    address: u64,
    length: usize,
}

impl Segment {
    fn read(file: File<'_>, at: usize) -> Option<Self> {
        let place = |below: usize| at.checked_add(below);
        Some(Self {
            kind: file.number(at, 4)?,
            offset: file.offset(place(8)?)?,
            address: file.number(place(16)?, 8)?,
            length: file.offset(place(32)?)?,
        })
    }

    /// Where in the file an address is, if this segment loads it.
    fn place_of(&self, address: u64) -> Option<usize> {
        let below = usize::try_from(address.checked_sub(self.address)?).ok()?;
        (self.kind == LOADED && below < self.length).then(|| self.offset.checked_add(below))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program with one loaded segment that is the whole file.
    fn program() -> Vec<u8> {
        let mut bytes = vec![0; 0x400];
        let mut put = |at: usize, value: u64, length: usize| {
            bytes[at..at + length].copy_from_slice(&value.to_le_bytes()[..length]);
        };
        put(16, 3, 2);
        put(18, MACHINE, 2);
        put(32, 64, 8);
        put(54, 56, 2);
        put(56, 3, 2);
        for (at, (kind, offset, length)) in
            [(LOADED, 0, 0x400), (DYNAMIC, 0x200, 0x60), (LOADER, 0x300, 8)].iter().enumerate()
        {
            let at = 64 + at * 56;
            put(at, *kind, 4);
            put(at + 8, *offset, 8);
            put(at + 16, 0x1000 + offset, 8);
            put(at + 32, *length, 8);
        }
        for (at, (tag, value)) in
            [(NEEDED, 1), (NEEDED, 9), (RUNPATH, 17), (NAMES, 0x1340), (0, 0), (NEEDED, 1)].iter().enumerate()
        {
            put(0x200 + at * 16, *tag, 8);
            put(0x208 + at * 16, *value, 8);
        }
        bytes[..6].copy_from_slice(&CLASS_64_LITTLE);
        bytes[0x300..0x306].copy_from_slice(b"/ld.so");
        bytes[0x340..0x340 + 32].copy_from_slice(b"\0liba.so\0libb.so\0$ORIGIN:/opt\0\0\0");
        bytes
    }

    #[test]
    fn loader_libraries_and_search_directories_are_found() {
        let asked = read(&program()).unwrap();
        assert_eq!(asked.loader.as_deref(), Some("/ld.so"));
        assert_eq!(asked.needed, ["liba.so", "libb.so"]);
        assert_eq!(asked.search, ["$ORIGIN", "/opt"]);
    }

    #[test]
    fn damaged_programs_are_no_programs_and_never_a_panic() {
        let whole = program();
        assert_eq!(read(b"#!/usr/bin/env node\n"), None);
        for length in 0..0x240 {
            assert_eq!(read(&whole[..length]), None, "{length}");
        }
        for at in 0..whole.len() {
            for value in [0, 0x7f, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                let _ = read(&bytes);
            }
        }
    }
}
