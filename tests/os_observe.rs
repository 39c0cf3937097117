//! Looking and reading on the real system: no link is followed, nothing outside is reached, nothing blocks, nothing is
//! read beyond its bound. The confined walk keeps the same promises as openat2.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::indexing_slicing)]

use kdna_broker::foundation::path::{AbsolutePath, RelativePath};
use kdna_broker::system::os::{Directory, OsSystem};
use kdna_broker::system::{Fault, Kind, Observe, System};
use rustix::fs::{CWD, FileType, Mode, RenameFlags};
use std::fs;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

struct Place {
    _space: TempDir,
    top: PathBuf,
}

/// `top/root` with `file`, `real/file`; `top/outside/file`. All links of the temporary directory's own path resolved.
fn place() -> Place {
    let space = tempfile::tempdir().unwrap();
    let top = fs::canonicalize(space.path()).unwrap();
    fs::create_dir_all(top.join("root/real")).unwrap();
    fs::create_dir(top.join("outside")).unwrap();
    fs::write(top.join("root/file"), "inside").unwrap();
    fs::write(top.join("root/real/file"), "inside").unwrap();
    fs::write(top.join("outside/file"), "outside").unwrap();
    Place { _space: space, top }
}

impl Place {
    fn path(&self, name: &str) -> PathBuf {
        self.top.join(name)
    }

    fn root(&self) -> Directory {
        OsSystem::new().open_directory(&absolute(&self.path("root"))).unwrap()
    }
}

fn absolute(path: &Path) -> AbsolutePath {
    AbsolutePath::parse(path.to_str().unwrap()).unwrap()
}

fn relative(path: &str) -> RelativePath {
    RelativePath::parse(path).unwrap()
}

/// Both ways to walk must give the same answer.
fn both<T: PartialEq + std::fmt::Debug>(ask: impl Fn(OsSystem) -> T) -> T {
    let (free, confined) = (ask(OsSystem::new()), ask(OsSystem::confined()));
    assert_eq!(free, confined, "openat2 and the confined walk disagree");
    free
}

fn read(root: &Directory, path: &str, limit: u64) -> Result<Vec<u8>, Fault> {
    both(|system| {
        let file = system.open_file_beneath(root, &relative(path))?;
        system.read(&file, limit)
    })
}

fn open_directory(path: &Path) -> Result<(), Fault> {
    both(|system| system.open_directory(&absolute(path)).map(drop))
}

#[test]
fn a_file_beneath_the_root_is_read() {
    let place = place();
    assert_eq!(read(&place.root(), "real/file", 100), Ok(b"inside".to_vec()));
    assert_eq!(read(&place.root(), "absent", 100), Err(Fault::NotFound));
    assert_eq!(read(&place.root(), "file/below", 100), Err(Fault::WrongKind));
}

#[test]
fn no_link_is_followed_wherever_it_is_and_wherever_it_leads() {
    let place = place();
    symlink("file", place.path("root/leaf")).unwrap();
    symlink("real", place.path("root/folder")).unwrap();
    symlink("../outside", place.path("root/out")).unwrap();
    symlink("/proc/self/fd/0", place.path("root/magic")).unwrap();
    symlink("nowhere", place.path("root/dangling")).unwrap();
    for path in ["leaf", "folder/file", "out/file", "magic", "dangling"] {
        assert_eq!(read(&place.root(), path, 100), Err(Fault::Link), "{path}");
    }
    let root = place.root();
    let beneath = |path| both(|system| system.open_directory_beneath(&root, &relative(path)).map(drop));
    assert_eq!(beneath("folder"), Err(Fault::Link));
    assert_eq!(beneath("real"), Ok(()));
    assert_eq!(beneath("file"), Err(Fault::WrongKind));
    let direct = |name| both(|system| system.open_file_in(&root, name).map(drop));
    assert_eq!(direct("leaf"), Err(Fault::Link));
    assert_eq!(direct("file"), Ok(()));
    for name in ["", ".", "..", "real/file", "../outside/file", "a\0b"] {
        assert_eq!(direct(name), Err(Fault::Escapes), "{name:?}");
    }
}

#[test]
fn a_root_that_is_a_link_or_below_one_is_refused() {
    let place = place();
    symlink("root", place.path("linked")).unwrap();
    symlink(".", place.path("around")).unwrap();
    assert_eq!(open_directory(&place.path("root")), Ok(()));
    assert_eq!(open_directory(&place.path("linked")), Err(Fault::Link));
    assert_eq!(open_directory(&place.path("around/root")), Err(Fault::Link));
    assert_eq!(open_directory(&place.path("root/file")), Err(Fault::WrongKind));
    assert_eq!(open_directory(&place.path("absent")), Err(Fault::NotFound));
    assert_eq!(open_directory(Path::new("/")), Ok(()));
}

#[test]
fn a_magic_link_is_refused() {
    // Through /proc a process reaches any directory that it holds, wherever that is.
    let place = place();
    let held = fs::File::open(place.path("outside")).unwrap();
    let magic = format!("/proc/self/fd/{}", held.as_raw_fd());
    assert!(fs::read_dir(&magic).is_ok(), "the control: it does lead there");
    assert_eq!(open_directory(Path::new(&magic)), Err(Fault::Link));
    assert_eq!(open_directory(Path::new("/proc/self/cwd")), Err(Fault::Link));
}

#[test]
fn what_is_no_regular_file_neither_blocks_nor_is_read() {
    let place = place();
    rustix::fs::mknodat(CWD, place.path("root/fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let _listener = UnixListener::bind(place.path("root/socket")).unwrap();
    let start = Instant::now();
    for path in ["fifo", "socket", "real"] {
        assert_eq!(read(&place.root(), path, 100), Err(Fault::WrongKind), "{path}");
    }
    let devices = OsSystem::new().open_directory(&AbsolutePath::parse("/dev").unwrap()).unwrap();
    for path in ["zero", "null"] {
        let file = OsSystem::new().open_file_in(&devices, path).unwrap();
        assert_eq!(OsSystem::new().file_facts(&file).unwrap().kind, Kind::Special);
        assert_eq!(OsSystem::new().read(&file, 100), Err(Fault::WrongKind), "{path}");
        assert!(matches!(OsSystem::new().seal(&file, 100), Err(Fault::WrongKind)), "{path}");
    }
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn facts_are_those_of_the_file() {
    let place = place();
    fs::hard_link(place.path("root/file"), place.path("root/second")).unwrap();
    symlink("file", place.path("root/link")).unwrap();
    let root = place.root();
    let look = |path: &str| both(|system| system.look_beneath(&root, &relative(path)));
    let known = fs::metadata(place.path("root/file")).unwrap();
    let facts = look("file").unwrap();
    assert_eq!((facts.links, facts.size, facts.kind), (2, 6, Kind::Regular));
    assert_eq!((facts.identity.device, facts.identity.inode), (known.dev(), known.ino()));
    assert_eq!((facts.owner, facts.mode), (known.uid(), known.mode() & 0o7777));
    assert_eq!(facts.modified, i128::from(known.mtime()) * 1_000_000_000 + i128::from(known.mtime_nsec()));
    assert_eq!(look("second").unwrap().identity, facts.identity);
    assert_eq!(look("link").unwrap().kind, Kind::Link);
    assert_eq!(look("link/below"), Err(Fault::Link));
    assert_eq!(look("").unwrap().kind, Kind::Directory);
    // By path, links above are followed and the last is not.
    symlink("root", place.path("linked")).unwrap();
    let by_path = |name: &str| OsSystem::new().look(&absolute(&place.path(name)));
    assert_eq!(by_path("linked/file").unwrap().identity, facts.identity);
    assert_eq!(by_path("linked").unwrap().kind, Kind::Link);
}

#[test]
fn a_read_is_bounded_by_the_limit_whatever_the_file_says() {
    let place = place();
    for (limit, expected) in [(6, Ok(b"inside".to_vec())), (5, Err(Fault::TooLarge)), (0, Err(Fault::TooLarge))] {
        assert_eq!(read(&place.root(), "file", limit), expected, "{limit}");
    }
    fs::write(place.path("root/empty"), "").unwrap();
    assert_eq!(read(&place.root(), "empty", 0), Ok(Vec::new()));

    let sparse = fs::File::create(place.path("root/sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    let start = Instant::now();
    assert_eq!(read(&place.root(), "sparse", 1 << 20), Err(Fault::TooLarge));
    assert!(start.elapsed() < Duration::from_secs(1));

    // A file whose facts say nothing of its size.
    let processes = OsSystem::new().open_directory(&AbsolutePath::parse("/proc/sys/kernel").unwrap()).unwrap();
    let file = OsSystem::new().open_file_in(&processes, "ostype").unwrap();
    assert_eq!(OsSystem::new().file_facts(&file).unwrap().size, 0);
    assert_eq!(OsSystem::new().read(&file, 100), Ok(b"Linux\n".to_vec()));
    assert_eq!(OsSystem::new().read(&file, 5), Err(Fault::TooLarge));
}

#[test]
fn a_file_that_grows_is_never_read_beyond_the_limit() {
    let place = place();
    let stop = AtomicBool::new(false);
    let root = place.root();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = fs::OpenOptions::new().append(true).open(place.path("root/file")).unwrap();
            while !stop.load(Ordering::Relaxed) && file.metadata().unwrap().len() < 50 << 20 {
                file.write_all(&[b'x'; 4096]).unwrap();
            }
        });
        let limit = 1 << 20;
        let start = Instant::now();
        let last = loop {
            let file = OsSystem::new().open_file_in(&root, "file").unwrap();
            let read = OsSystem::new().read(&file, limit);
            assert!(read.as_ref().is_ok_and(|bytes| bytes.len() <= 1 << 20) || read == Err(Fault::TooLarge));
            if read.is_err() || start.elapsed() > Duration::from_secs(20) {
                break read;
            }
        };
        stop.store(true, Ordering::Relaxed);
        assert_eq!(last, Err(Fault::TooLarge));
    });
}

#[test]
fn a_directory_that_is_exchanged_for_a_link_gives_inside_bytes_or_a_refusal() {
    let place = place();
    symlink("../outside", place.path("root/evil")).unwrap();
    let stop = AtomicBool::new(false);
    let root = place.root();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (one, other) = (place.path("root/real"), place.path("root/evil"));
            while !stop.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let (mut read, mut refused) = (0, 0);
        let start = Instant::now();
        while (read < 500 || refused < 500) && start.elapsed() < Duration::from_secs(20) {
            for system in [OsSystem::new(), OsSystem::confined()] {
                let path = relative("real/file");
                match system.open_file_beneath(&root, &path).and_then(|file| system.read(&file, 100)) {
                    Ok(bytes) => {
                        assert_eq!(bytes, b"inside", "bytes of outside came");
                        read += 1;
                    }
                    Err(Fault::Link | Fault::Changed | Fault::WrongKind) => refused += 1,
                    Err(other) => panic!("{other:?}"),
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(read > 0 && refused > 0, "the exchange was seen from both sides: {read} {refused}");
    });
}

#[test]
fn a_held_root_stays_the_same_when_its_path_is_given_to_another() {
    let place = place();
    let root = place.root();
    fs::rename(place.path("root"), place.path("moved")).unwrap();
    fs::create_dir(place.path("root")).unwrap();
    fs::write(place.path("root/file"), "replaced").unwrap();
    assert_eq!(read(&root, "file", 100), Ok(b"inside".to_vec()));
    let now = OsSystem::new().look(&absolute(&place.path("root"))).unwrap();
    assert_ne!(OsSystem::new().directory_facts(&root).unwrap().identity, now.identity, "and the change is visible");
}

#[test]
fn a_canonical_directory_has_no_link_left() {
    let place = place();
    symlink("root", place.path("linked")).unwrap();
    let canonical = |name: &str| OsSystem::new().canonical_directory(&absolute(&place.path(name)));
    assert_eq!(canonical("root/real"), Ok(absolute(&place.path("root/real"))));
    assert_eq!(canonical("linked/real"), Ok(absolute(&place.path("root/real"))), "links above are resolved");
    assert_eq!(canonical("linked"), Err(Fault::Link));
    assert_eq!(canonical("root/file"), Err(Fault::WrongKind));
    assert_eq!(canonical("absent"), Err(Fault::NotFound));
    fs::create_dir(place.path("gone (deleted)")).unwrap();
    assert_eq!(canonical("gone (deleted)"), Err(Fault::NotFound));
}

#[test]
fn the_account_is_read_from_the_password_database() {
    let system = OsSystem::new();
    assert_eq!(system.user(), rustix::process::geteuid().as_raw());
    let database = fs::read_to_string("/etc/passwd").unwrap();
    let line = database.lines().find(|line| line.split(':').nth(2) == Some(&system.user().to_string()));
    let home = line.and_then(|line| line.split(':').nth(5)).and_then(|home| AbsolutePath::parse(home).ok());
    assert_eq!(system.account_home(), home);
    assert_eq!(system.working_directory().unwrap(), absolute(&std::env::current_dir().unwrap()));
}

#[test]
fn another_mount_is_refused_even_with_the_same_device() {
    let place = place();
    fs::create_dir(place.path("root/mounted")).unwrap();
    let mount = r#"mount --bind "$2/outside" "$2/root/mounted" && mount --bind "$2/outside/file" "$2/root/file" && exec "$1" --exact --ignored --nocapture inside_a_mount_namespace"#;
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"])
        .args([std::env::current_exe().unwrap(), place.top.clone()])
        .env("MOUNTED_PLACE", &place.top)
        .output();
    match output {
        Ok(output) if String::from_utf8_lossy(&output.stdout).contains("running 1 test") => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        }
        Ok(output) => println!("skipped: no mount namespace: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => println!("skipped: unshare does not run: {error}"),
    }
}

#[test]
#[ignore = "run by another_mount_is_refused_even_with_the_same_device, in a namespace of its own"]
fn inside_a_mount_namespace() {
    let top = PathBuf::from(std::env::var_os("MOUNTED_PLACE").unwrap());
    assert_eq!(fs::read(top.join("root/mounted/file")).unwrap(), b"outside", "the control: it is mounted");
    let root = OsSystem::new().open_directory(&absolute(&top.join("root"))).unwrap();
    let device = fs::metadata(top.join("root")).unwrap().dev();
    assert_eq!(fs::metadata(top.join("root/mounted")).unwrap().dev(), device);
    assert_eq!(read(&root, "mounted/file", 100), Err(Fault::Escapes));
    assert_eq!(read(&root, "file", 100), Err(Fault::Escapes));
    assert_eq!(read(&root, "real/file", 100), Ok(b"inside".to_vec()));
    let look = both(|system| system.look_beneath(&root, &relative("mounted")));
    assert_eq!(look, Err(Fault::Escapes));
    // A private file may be a bind mount of its own.
    let private = both(|system| system.open_file_in(&root, "file").and_then(|file| system.read(&file, 100)));
    assert_eq!(private, Ok(b"outside".to_vec()));
}
