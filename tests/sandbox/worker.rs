//! The worker's side: confines itself as its script says, then acts, or misbehaves.

use crate::forbidden::{self, Facts, told};
use kdna_broker::foundation::path::RelativePath;
use kdna_broker::system::os::confine::{self, Level};
use kdna_broker::system::os::{OsSystem, start, worker_io};
use kdna_broker::system::{Fault, Observe, System};
use std::fs;
use std::io::Write as _;
use std::process::{Command, ExitCode};
use std::time::Duration;

pub(crate) fn main() -> ExitCode {
    let script = fs::read_to_string("script").unwrap_or_else(|_| "unreadable 0 echo".to_owned());
    let words: Vec<&str> = script.split(' ').collect();
    let ceiling = words[1].parse().ok().filter(|abi| *abi > 0);
    let level = match words[0] {
        "confined" => confine::confine(true, ceiling, worker_io::parent_id().unwrap()),
        "unreadable" => confine::confine(false, ceiling, worker_io::parent_id().unwrap()),
        "orphan" => confine::confine(true, ceiling, 1),
        "unconfined" => confine::new_session().map(|()| Level { landlock: 0, seccomp: false }),
        mute => return before_ready(mute),
    };
    match level {
        Ok(level) => worker_io::ready(level).unwrap(),
        Err(measure) => {
            worker_io::refused(measure).unwrap();
            return ExitCode::from(3);
        }
    }
    after_ready(words[2])
}

fn before_ready(behaviour: &str) -> ExitCode {
    match behaviour {
        "exits" => return ExitCode::from(9),
        "hangs" => std::thread::sleep(Duration::from_secs(600)),
        "aborts" => std::process::abort(),
        "refuses" => worker_io::refused("landlock").unwrap(),
        "lies" => worker_io::refused("made-up").unwrap(),
        "babbles" => rustix::io::write(rustix::stdio::stdin(), b"READY or not").map(drop).unwrap(),
        // Whether anything came before READY was said.
        "listens" => {
            std::thread::sleep(Duration::from_millis(100));
            rustix::fs::fcntl_setfl(rustix::stdio::stdin(), rustix::fs::OFlags::NONBLOCK).unwrap();
            let early = rustix::io::read(rustix::stdio::stdin(), &mut [0; 64]);
            rustix::fs::fcntl_setfl(rustix::stdio::stdin(), rustix::fs::OFlags::empty()).unwrap();
            worker_io::ready(Level { landlock: 0, seccomp: false }).unwrap();
            worker_io::write_output(format!("{early:?}").as_bytes()).unwrap();
        }
        other => panic!("unknown behaviour {other}"),
    }
    ExitCode::SUCCESS
}

fn after_ready(action: &str) -> ExitCode {
    match action {
        "hangs" => std::thread::sleep(Duration::from_secs(600)),
        "exits-unread" => return ExitCode::from(7),
        "aborts" => std::process::abort(),
        "floods-output" => loop {
            worker_io::write_output(&[b'x'; 8192]).unwrap();
        },
        "floods-errors" => {
            (0..500).for_each(|_| std::io::stderr().write_all(&[b'e'; 8192]).unwrap());
            std::io::stderr().write_all(b"the end").unwrap();
        }
        "leaves-a-child" => {
            let time = format!("600.{}", worker_io::parent_id().unwrap());
            drop(Command::new("/bin/sleep").arg(time).spawn().unwrap());
        }
        "hangs-with-a-child" => {
            let time = format!("700.{}", worker_io::parent_id().unwrap());
            drop(Command::new("/bin/sleep").arg(time).spawn().unwrap());
            std::thread::sleep(Duration::from_secs(600));
        }
        "scan-memory" => tell(&scan_memory()),
        "slow-echo" => {
            std::thread::sleep(Duration::from_millis(100));
            echo();
        }
        "echo" => echo(),
        "environment" => tell(&format!(
            "{:?} {:?} {}",
            std::env::vars_os().collect::<Vec<_>>(),
            std::env::args_os().collect::<Vec<_>>(),
            std::env::current_dir().unwrap().display()
        )),
        "open-descriptors" => tell(&open_descriptors().to_string()),
        "read-inside" => tell(&fs::read_to_string("file").unwrap_or_else(|error| format!("refused {error}"))),
        "take-memory" => tell(&take_memory()),
        "live" => tell(&live()),
        "observe" => tell(&observe()),
        "read-sealed" => read_sealed(),
        "write-sealed" => write_sealed(),
        forbidden => act(forbidden),
    }
    ExitCode::SUCCESS
}

fn tell(text: &str) {
    worker_io::write_output(text.as_bytes()).unwrap();
}

fn echo() {
    let got = worker_io::receive().unwrap();
    worker_io::write_output(&got.request).unwrap();
    worker_io::write_output(b"|").unwrap();
    worker_io::write_output(&got.input).unwrap();
}

fn act(name: &str) {
    let request = String::from_utf8(worker_io::receive().unwrap().request).unwrap();
    let lines: Vec<&str> = request.lines().collect();
    let facts =
        Facts { outside: lines[0].to_owned(), port: lines[1].parse().unwrap(), broker: lines[2].parse().unwrap() };
    let action = forbidden::find(name).unwrap();
    tell(&told(action(&facts)));
}

/// Descriptors above 2 that could be closed, so were open.
fn open_descriptors() -> usize {
    (3..64).filter(|number: &i32| nix::unistd::close(*number).is_ok()).count()
}

fn take_memory() -> String {
    let mut taken = Vec::<u8>::new();
    match taken.try_reserve_exact(600 << 20) {
        Ok(()) => "allowed".to_owned(),
        Err(error) => format!("refused {error}"),
    }
}

/// Looks for the secret in all of its own writable memory, before it has received anything. (The text itself lies in
/// this program's constants, which are not writable.)
fn scan_memory() -> String {
    use std::os::unix::fs::FileExt as _;
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let memory = fs::File::open("/proc/self/mem").unwrap();
    let mut scanned = 0;
    for line in maps.lines().filter(|line| line.contains(" rw-p ")) {
        let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let number = |text| u64::from_str_radix(text, 16).unwrap();
        let mut bytes = vec![0; usize::try_from(number(end) - number(start)).unwrap()];
        if memory.read_at(&mut bytes, number(start)).is_ok() {
            scanned += bytes.len();
            if bytes.windows(crate::faults::CANARY.len()).any(|window| window == crate::faults::CANARY) {
                return "found".to_owned();
            }
        }
    }
    if scanned > 100_000 { "scanned, absent".to_owned() } else { format!("only {scanned} bytes could be read") }
}

/// What a runtime needs to live: memory, time, chance, threads, its errors.
fn live() -> String {
    let memory = vec![1_u8; 64 << 20].iter().map(|byte| u64::from(*byte)).sum::<u64>();
    let system = OsSystem::confined();
    let mut chance = [0; 32];
    system.random(&mut chance).unwrap();
    let time = system.now().milliseconds() > 0 && !system.monotonic().is_zero();
    let sum: u64 = std::thread::scope(|scope| {
        let work: Vec<_> = (1..=3).map(|number| scope.spawn(move || number)).collect();
        work.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let slept =
        std::thread::Builder::new().name("named".to_owned()).spawn(|| std::thread::sleep(Duration::from_millis(1)));
    slept.unwrap().join().unwrap();
    eprintln!("errors go out");
    format!("{} {} {time} {sum}", memory == 64 << 20, chance != [0; 32])
}

/// Looking beneath the start directory from inside.
fn observe() -> String {
    let system = OsSystem::confined();
    let here = system.start_directory().unwrap();
    let path = |text| RelativePath::parse(text).unwrap();
    let read = |text| {
        let file = system.open_file_beneath(&here, &path(text))?;
        system.read(&file, 100).map(|bytes| String::from_utf8(bytes).unwrap())
    };
    let results = [
        read("file"),
        read("folder/file"),
        read("link"),
        read("folder"),
        read("file/below"),
        read("absent"),
        system.look_beneath(&here, &path("link")).map(|facts| format!("{:?}", facts.kind)),
        system.open_directory_beneath(&here, &path("link")).map(|_| String::new()),
        system.open_directory_beneath(&here, &path("folder")).map(|_| "opened".to_owned()),
        system.open_file_in(&here, "../file").map(|_| String::new()),
        // The filter refuses openat2; outside the confined mode that is an error, never a reason to walk.
        OsSystem::new().open_file_beneath(&here, &path("file")).map(|_| String::new()),
        start::check_platform().map(|_| String::new()),
    ];
    let expected = [
        Ok("content".to_owned()),
        Ok("content".to_owned()),
        Err(Fault::Link),
        Err(Fault::WrongKind),
        Err(Fault::WrongKind),
        Err(Fault::NotFound),
        Ok("Link".to_owned()),
        Err(Fault::Link),
        Ok("opened".to_owned()),
        Err(Fault::Escapes),
        Err(Fault::Unsupported("openat2")),
        Err(Fault::Unsupported("openat2")),
    ];
    if results == expected { "as outside".to_owned() } else { format!("{results:?}") }
}

fn read_sealed() {
    let sealed = worker_io::receive().unwrap().sealed.unwrap();
    let small = worker_io::read_sealed(&sealed, 3).unwrap_err();
    let whole = worker_io::read_sealed(&sealed, 1 << 30).unwrap();
    tell(&format!("{small:?} {} {}", worker_io::sealed_length(&sealed).unwrap(), String::from_utf8(whole).unwrap()));
}

fn write_sealed() {
    use std::os::fd::AsRawFd as _;
    let sealed = worker_io::receive().unwrap().sealed.unwrap();
    let path = format!("/proc/self/fd/{}", sealed.as_raw_fd());
    let direct = rustix::io::pwrite(&sealed, b"x", 0);
    let again = fs::OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(b"x"));
    tell(&format!("{} {}", direct.is_err(), again.is_err()));
}
