//! The packaged asset as a ZIP file: recognition, and a full parse under the container rules. Works on bytes alone,
//! never writes anything to a disk and never follows a name. Refusals without a code are the contract's own.
//!
//! Stricter than the reference, because no writer produces it: a recorded CRC-32 that does not hold, encrypted entries,
//! a local name unlike the central one, overlapping records, directories, and an end record whose two counts or whose
//! directory size do not agree (one changed bit could otherwise hide an entry). A recorded CRC-32 of zero means that the
//! writer noted none; integrity rests on the digests, not on it.

use super::fault::{RuntimeFault, code};
use super::inflate::{crc32, inflate};
use crate::foundation::digest::Digest;
use crate::foundation::limits;
use crate::foundation::switches::Switches;
use crate::foundation::text::is_nfc;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;
use zeroize::Zeroizing;

pub(super) const MIMETYPE: &str = "mimetype";
pub(super) const MANIFEST: &str = "kdna.json";
pub(super) const PAYLOAD: &str = "payload.kdnab";
pub(super) const CHECKSUMS: &str = "checksums.json";
/// Allowed only where signatures are switched on.
pub(super) const SIGNATURE: &str = "signature.kdsig";
const ATTACHMENTS: &str = "attachments";
pub(super) const MEDIA_TYPE: &[u8] = b"application/vnd.kdna.asset";

const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const CENTRAL_SIGNATURE: [u8; 4] = *b"PK\x01\x02";
const LOCAL_SIGNATURE: [u8; 4] = *b"PK\x03\x04";
const END_SIGNATURE: [u8; 4] = *b"PK\x05\x06";
const END_BYTES: usize = 22;

/// A packaged asset, taken apart: the entries of the file, in the order of its directory. What is made of an asset borrows
/// from it.
pub struct Container<'a> {
    /// The whole file.
    pub(super) bytes: &'a [u8],
    /// Name and content of each entry.
    pub(super) entries: Vec<Entry<'a>>,
    /// What it was read with.
    pub(super) switches: Switches,
    /// What the envelope held, once a load opened it; wiped when the container goes.
    opened: OnceCell<Zeroizing<Vec<u8>>>,
    /// The digest of the entries that a load reads, computed once.
    pub(super) entry_set: OnceCell<Digest>,
}

/// One entry, inflated.
pub(super) struct Entry<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) data: Cow<'a, [u8]>,
    digest: OnceCell<Digest>,
}

impl Entry<'_> {
    /// The digest of the content, computed once.
    pub(super) fn digest(&self) -> Digest {
        *self.digest.get_or_init(|| Digest::of(&self.data))
    }

    /// Whether the content digest reads it as JSON.
    pub(super) fn is_json(&self) -> bool {
        self.name.len() >= 5
            && self.name.as_bytes().last_chunk::<5>().is_some_and(|end| end.eq_ignore_ascii_case(b".json"))
    }
}

/// Whether the bytes are a packaged asset at all: a ZIP file without prefix whose first entry is the stored media type.
/// Everything else about it may still be wrong.
pub fn recognise(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK") && starts_with_media_type(bytes).unwrap_or(false)
}

fn starts_with_media_type(bytes: &[u8]) -> Result<bool, RuntimeFault> {
    let end = EndRecord::find(bytes)?;
    if end.count == 0 {
        return Ok(false);
    }
    let first = Central::read(bytes, end.directory)?;
    let local = Local::read(bytes, first.local_offset)?;
    let data = local.data.checked_add(first.compressed).and_then(|stop| bytes.get(local.data..stop));
    Ok(first.name == MIMETYPE.as_bytes() && first.method == STORED && data == Some(MEDIA_TYPE))
}

impl<'a> Container<'a> {
    /// Takes a packaged asset apart; nothing in it is judged but the container's own rules. Refuses, without a code and
    /// unparsed, bytes that are not recognised.
    pub fn read(bytes: &'a [u8]) -> Result<Self, RuntimeFault> {
        Self::read_with(bytes, Switches::NONE)
    }

    /// The same beyond the base profile, as far as it is switched on.
    pub fn read_with(bytes: &'a [u8], switches: Switches) -> Result<Self, RuntimeFault> {
        demand(recognise(bytes))?;
        Self::parse(bytes, switches)
    }

    /// Keeps what the envelope held for as long as the container lives. Refuses, without a code, a second content.
    pub(super) fn keep(&self, content: Zeroizing<Vec<u8>>) -> Result<&[u8], RuntimeFault> {
        demand(self.opened.set(content).is_ok())?;
        Ok(self.opened.get().map_or(&[], |content| content.as_slice()))
    }

    /// Reads every entry. Refuses without a code, or with `ERR_OUT_OF_RANGE`, `Z_DATA_ERROR`, `Z_BUF_ERROR`. Never
    /// allocates by a declared size that the limits and the file's own size do not bear out.
    fn parse(bytes: &'a [u8], switches: Switches) -> Result<Self, RuntimeFault> {
        let end = EndRecord::find(bytes)?;
        demand(u64::try_from(bytes.len()).is_ok_and(|size| size <= limits::CONTAINER_BYTES))?;
        demand(end.count <= limits::CONTAINER_ENTRIES)?;
        let entries = Vec::with_capacity(end.count);
        let mut container = Container { bytes, entries, switches, opened: OnceCell::new(), entry_set: OnceCell::new() };
        let mut records = Vec::with_capacity(end.count.saturating_add(2));
        let (mut at, mut total) = (end.directory, 0);
        for _ in 0..end.count {
            let central = Central::read(bytes, at)?;
            let name = String::from_utf8_lossy(central.name);
            demand(is_allowed_name(&name, switches))?;
            container.admit(&central, &name, &mut total)?;
            let (record, data) = central.content(bytes)?;
            records.push(record);
            container.entries.push(Entry { name, data, digest: OnceCell::new() });
            at = central.next;
        }
        demand(end.is_consistent(bytes, at)?)?;
        records.extend([end.directory..at, end.at..end.at.saturating_add(END_BYTES)]);
        demand(are_disjoint(records))?;
        container.has_required_entries()?;
        Ok(container)
    }

    /// The content of an entry.
    pub(super) fn entry(&self, name: &str) -> Option<&[u8]> {
        self.entries.iter().find(|entry| entry.name == name).map(|entry| entry.data.as_ref())
    }

    /// The digest of an entry's content; of nothing for a missing one.
    pub(super) fn digest(&self, name: &str) -> Digest {
        self.entries.iter().find(|entry| entry.name == name).map_or_else(|| Digest::of(b""), Entry::digest)
    }

    /// What the directory says about an entry, judged before a byte of it is read.
    fn admit(&self, central: &Central<'_>, name: &str, total: &mut u64) -> Result<(), RuntimeFault> {
        demand(is_safe_name(name))?;
        demand(self.entries.iter().all(|entry| entry.name != name))?;
        demand(matches!(central.method, STORED | DEFLATED))?;
        demand(central.uncompressed <= limits::ENTRY_BYTES)?;
        let ratio_bound = u64::try_from(central.compressed).unwrap_or(u64::MAX).saturating_mul(limits::ENTRY_RATIO);
        demand(central.compressed == 0 || central.uncompressed <= ratio_bound)?;
        demand(!central.is_special())?;
        *total = total.saturating_add(central.uncompressed);
        demand(*total <= limits::CONTAINER_INFLATED_BYTES)?;
        demand(central.flags & 1 == 0)
    }

    fn has_required_entries(&self) -> Result<(), RuntimeFault> {
        demand(self.entries.first().is_some_and(|entry| entry.name == MIMETYPE && entry.data == MEDIA_TYPE))?;
        demand(self.entry(MANIFEST).is_some() && self.entry(PAYLOAD).is_some())
    }
}

fn demand(holds: bool) -> Result<(), RuntimeFault> {
    if holds { Ok(()) } else { Err(RuntimeFault::UNNAMED) }
}

/// A relative path in canonical form: nothing that could leave a directory or be read as two different names.
fn is_safe_name(name: &str) -> bool {
    let drive = matches!(name.as_bytes(), [letter, b':', b'/', ..] if letter.is_ascii_alphabetic());
    is_nfc(name)
        && !name.contains('\\')
        && !drive
        && name.split('/').all(|component| !matches!(component, "" | "." | ".."))
}

fn is_allowed_name(name: &str, switches: Switches) -> bool {
    let top = name.split('/').next().unwrap_or_default();
    if top == SIGNATURE {
        return switches.signatures && name == SIGNATURE;
    }
    [MIMETYPE, MANIFEST, PAYLOAD, CHECKSUMS, ATTACHMENTS].contains(&top) && name != ATTACHMENTS
}

/// Whether no byte of the file belongs to two records.
fn are_disjoint(mut records: Vec<Range<usize>>) -> bool {
    records.sort_unstable_by_key(|record| (record.start, record.end));
    records.iter().zip(records.iter().skip(1)).all(|(before, after)| before.end <= after.start)
}

/// Where the directory is, and how many entries it lists.
struct EndRecord {
    at: usize,
    count: usize,
    directory: usize,
}

impl EndRecord {
    /// The last end record in the window that the contract searches; its comment length is not looked at.
    fn find(bytes: &[u8]) -> Result<Self, RuntimeFault> {
        let last = bytes.len().checked_sub(END_BYTES).ok_or(RuntimeFault::UNNAMED)?;
        let first = bytes.len().saturating_sub(limits::END_RECORD_WINDOW);
        let at = (first..=last)
            .rev()
            .find(|at| bytes.get(*at..).is_some_and(|rest| rest.starts_with(&END_SIGNATURE)))
            .ok_or(RuntimeFault::UNNAMED)?;
        Ok(EndRecord { at, count: usize::from(u16_at(bytes, at, 10)?), directory: offset_at(bytes, at, 16)? })
    }

    /// Whether the record says twice how many entries there are, and where the directory, read to `stop`, ends.
    fn is_consistent(&self, bytes: &[u8], stop: usize) -> Result<bool, RuntimeFault> {
        let count = usize::from(u16_at(bytes, self.at, 8)?);
        let size = offset_at(bytes, self.at, 12)?;
        Ok(count == self.count && self.directory.checked_add(size) == Some(stop))
    }
}

/// One header of the directory.
struct Central<'a> {
    flags: u16,
    method: u16,
    crc: u32,
    compressed: usize,
    uncompressed: u64,
    attributes: u32,
    local_offset: usize,
    name: &'a [u8],
    next: usize,
}

impl<'a> Central<'a> {
    fn read(bytes: &'a [u8], at: usize) -> Result<Self, RuntimeFault> {
        demand(array_at::<4>(bytes, at, 0)? == CENTRAL_SIGNATURE)?;
        let name_from = at.saturating_add(46);
        let name_to = name_from.saturating_add(usize::from(u16_at(bytes, at, 28)?));
        let tail = usize::from(u16_at(bytes, at, 30)?).saturating_add(usize::from(u16_at(bytes, at, 32)?));
        Ok(Central {
            flags: u16_at(bytes, at, 8)?,
            method: u16_at(bytes, at, 10)?,
            crc: u32_at(bytes, at, 16)?,
            compressed: offset_at(bytes, at, 20)?,
            uncompressed: u64::from(u32_at(bytes, at, 24)?),
            attributes: u32_at(bytes, at, 38)?,
            local_offset: offset_at(bytes, at, 42)?,
            name: bytes.get(name_from..name_to.min(bytes.len())).unwrap_or_default(),
            next: name_to.saturating_add(tail),
        })
    }

    /// Symbolic links, devices, pipes, sockets and directories, by the Unix mode bits.
    fn is_special(&self) -> bool {
        matches!(
            self.attributes >> 16 & 0o170_000,
            0o120_000 | 0o020_000 | 0o060_000 | 0o010_000 | 0o140_000 | 0o040_000
        )
    }

    /// The range of the whole local record, and its content at the size that the directory declares.
    fn content(&self, bytes: &'a [u8]) -> Result<(Range<usize>, Cow<'a, [u8]>), RuntimeFault> {
        let local = Local::read(bytes, self.local_offset)?;
        demand(local.flags & 1 == 0 && local.name == self.name)?;
        let stop = local.data.saturating_add(self.compressed);
        let data = bytes.get(local.data..stop.min(bytes.len())).unwrap_or_default();
        let size = usize::try_from(self.uncompressed).map_err(|_| RuntimeFault::UNNAMED)?;
        let data = if self.method == STORED { Cow::Borrowed(data) } else { Cow::Owned(inflate(data, size)?) };
        demand(data.len() == size && (self.crc == 0 || crc32(&data) == self.crc))?;
        Ok((self.local_offset..stop, data))
    }
}

/// One local header.
struct Local<'a> {
    flags: u16,
    name: &'a [u8],
    data: usize,
}

impl<'a> Local<'a> {
    fn read(bytes: &'a [u8], at: usize) -> Result<Self, RuntimeFault> {
        demand(array_at::<4>(bytes, at, 0)? == LOCAL_SIGNATURE)?;
        let name_from = at.saturating_add(30);
        let name_to = name_from.saturating_add(usize::from(u16_at(bytes, at, 26)?));
        let data = name_to.saturating_add(usize::from(u16_at(bytes, at, 28)?));
        let name = bytes.get(name_from..name_to).unwrap_or_default();
        Ok(Local { flags: u16_at(bytes, at, 6)?, name, data })
    }
}

fn array_at<const N: usize>(bytes: &[u8], base: usize, offset: usize) -> Result<[u8; N], RuntimeFault> {
    base.checked_add(offset)
        .and_then(|at| bytes.get(at..))
        .and_then(|rest| rest.first_chunk::<N>())
        .copied()
        .ok_or(RuntimeFault::coded(code::OUT_OF_RANGE))
}

fn u16_at(bytes: &[u8], base: usize, offset: usize) -> Result<u16, RuntimeFault> {
    array_at(bytes, base, offset).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], base: usize, offset: usize) -> Result<u32, RuntimeFault> {
    array_at(bytes, base, offset).map(u32::from_le_bytes)
}

fn offset_at(bytes: &[u8], base: usize, offset: usize) -> Result<usize, RuntimeFault> {
    u32_at(bytes, base, offset).and_then(|at| usize::try_from(at).map_err(|_| RuntimeFault::UNNAMED))
}
