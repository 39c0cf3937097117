//! The password of a session: where it may come from, where it is, and where it is not.

use crate::person::answer;
use crate::processes::children;
use crate::protect::HIDDEN;
use crate::stage::{HOST, PROCESSOR, PUBLIC, Stage, canary, loading, locked, locked_with, wait_until};
use crate::support::command::{Exit, Program, run};
use crate::support::real::delivered;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Every regular file below a directory; what goes away meanwhile is not there.
fn files_below(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_below(&entry.path(), found),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

/// The files that hold a text: of the test's own places, and of everything that lies in memory or is temporary.
fn holders(stage: &Stage, text: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for place in
        [stage.scratch.path(), stage.memory(), Path::new("/dev/shm"), Path::new("/run/user"), Path::new("/var/tmp")]
    {
        files_below(place, &mut files);
    }
    let recent = fs::read_dir(std::env::temp_dir()).unwrap().flatten().map(|entry| entry.path());
    files.extend(recent.filter(|path| path.is_file()));
    files.sort();
    files.dedup();
    files.retain(|file| fs::metadata(file).is_ok_and(|facts| facts.len() < 1 << 24));
    files.retain(|file| fs::read(file).is_ok_and(|bytes| holds(&bytes, text)));
    files
}

/// A process and all below it.
fn tree(process: u32) -> Vec<u32> {
    let below = children(process).into_iter().flat_map(tree);
    std::iter::once(process).chain(below).collect()
}

/// What the kernel shows of a process to whoever may look.
fn shown(process: u32) -> Vec<u8> {
    ["cmdline", "environ", "comm"].map(|name| fs::read(format!("/proc/{process}/{name}")).unwrap_or_default()).concat()
}

#[test]
fn a_typed_password_loads_and_is_in_no_argument_environment_journal_log_core_or_leftover_file() {
    let password = canary("secret");
    let stage = Stage::allowed(&locked(&password));
    let script = format!("ulimit -c >core; {}", loading(&stage, "echo >loaded; until [ -e go ]; do sleep 0.02; done;"));
    let mut person = stage.sit_down(&[], &script);
    assert!(person.is_asked() && !person.echoes(), "asked without echo");
    person.type_keys(format!("{password}\n").as_bytes());
    stage.wait_for("loaded");
    assert!(person.echoes(), "the terminal's settings are put back");
    let all = tree(person.id());
    let server = all.iter().find(|id| holds(&fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default(), "mcp"));
    assert!(all.len() >= 3 && server.is_some(), "the launcher, the script and the server are looked at: {all:?}");
    for process in &all {
        assert!(!holds(&shown(*process), &password), "{process}");
    }
    assert!(all.iter().any(|id| holds(&shown(*id), "KDNA_MCP_AUTHORIZATION_FILE")), "the search sees variables");
    let [session] = stage.sessions().try_into().unwrap();
    assert_eq!(holders(&stage, &password), [session.join("password")], "one file in memory and nothing else");
    for (path, mode) in [(session.clone(), 0o700), (session.join("password"), 0o600), (session.join("lock"), 0o600)] {
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, mode, "{path:?}");
    }
    stage.scratch.file("go", "", 0o600);
    let seen = person.finish();
    assert_eq!(seen.exit, Exit::Status(0), "{}", seen.screen);
    assert!(!seen.screen.contains(&password), "{}", seen.screen);
    let answer = fs::read_to_string(stage.path("answer")).unwrap();
    assert!(delivered(&answer) && answer.contains(HIDDEN), "{answer}");
    assert_eq!(fs::read_to_string(stage.path("core")).unwrap().trim(), "0");
    assert_eq!(holders(&stage, &password), Vec::<PathBuf>::new());
    assert!(stage.sessions().is_empty());
    let mut journal = Vec::new();
    files_below(&stage.scratch.state(), &mut journal);
    assert!(
        journal.iter().any(|file| fs::read_to_string(file).unwrap_or_default().contains("\"event\":\"delivered\"")),
        "{journal:?}"
    );
}

#[test]
fn a_person_may_try_three_times_and_a_host_is_started_for_the_right_password_alone() {
    let password = canary("secret");
    let stage = Stage::allowed(&locked(&password));
    let right = format!("{password}\n").into_bytes();
    let wrong = |text: &str| format!("{text}\n").into_bytes();
    let keys = [wrong("first"), wrong(""), right.clone()];
    let seen =
        stage.launch_typing(&[], "cat \"$KDNA_MCP_AUTHORIZATION_FILE\" >got", &keys.each_ref().map(|keys| &keys[..]));
    assert_eq!(seen.exit, Exit::Status(0), "{}", seen.screen);
    assert_eq!(fs::read_to_string(stage.path("got")).unwrap(), format!("{password}\r\n"));
    assert!(seen.screen.contains("try 3 of 3") && seen.screen.contains("That is no password."), "{}", seen.screen);
    let keys = [wrong("first"), wrong("second"), wrong(&format!("{password} ")), right];
    let seen = stage.launch_typing(&[], "echo >started", &keys.each_ref().map(|keys| &keys[..]));
    assert_eq!(seen.exit, Exit::Status(2), "{}", seen.screen);
    assert!(seen.screen.contains("authorization_rejected") && !seen.screen.contains("first"), "{}", seen.screen);
    assert!(!stage.path("started").exists() && stage.sessions().is_empty());
}

#[test]
fn nothing_that_is_typed_while_a_password_is_tried_is_shown() {
    let password = canary("secret");
    // A derivation that takes its time, so that there is time to type between two questions.
    let stage = Stage::allowed(&locked_with(&password, (65_536, 3, 4)));
    let mut person = stage.sit_down(&[], "echo >started");
    assert!(person.is_asked() && !person.echoes());
    person.type_keys(b"wrong\n");
    let mut looks = 0;
    let begun = std::time::Instant::now();
    while !person.has_shown("try 2 of 3") {
        assert!(!person.echoes(), "look {looks}: the terminal shows what is typed");
        person.type_keys(b"qzq");
        looks += 1;
        assert!(begun.elapsed() < crate::support::command::LIMIT, "it is asked again");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    person.type_keys(b"\x03");
    let seen = person.finish();
    assert_eq!(seen.exit, Exit::Status(10), "{}", seen.screen);
    assert!(!seen.screen.contains("qzq") && !seen.screen.contains("wrong"), "{}", seen.screen);
    assert!(!stage.path("started").exists() && stage.sessions().is_empty());
}

#[test]
fn control_c_at_the_password_starts_nothing_and_puts_the_terminal_back() {
    let password = canary("secret");
    let stage = Stage::allowed(&locked(&password));
    for keys in [b"half\x03", &b"\x04"[..], b"\x1c"] {
        let seen = stage.launch_typing(&[], "echo >started", &[keys]);
        assert_eq!(seen.exit, Exit::Status(10), "{keys:?}: {}", seen.screen);
        assert!(!stage.path("started").exists() && stage.sessions().is_empty());
    }
}

#[test]
fn a_signal_at_the_password_ends_the_launch_and_puts_the_terminal_back() {
    let password = canary("secret");
    let stage = Stage::allowed(&locked(&password));
    let signals =
        [("TERM", 15), ("HUP", 1), ("INT", 2), ("USR1", 10), ("USR2", 12), ("ALRM", 14), ("XCPU", 24), ("PWR", 30)];
    for (name, number) in signals {
        // A shell is the session's leader, so that the terminal is still there to be looked at. Without job control it has
        // its background jobs ignore SIGINT.
        let wait = if name == "INT" { "" } else { "& pid=$!; wait $pid" };
        let outer =
            format!("eval \"$LAUNCH 'echo >started' {wait}\"; echo $? >status; until [ -e go ]; do sleep 0.02; done");
        let outer = outer.replace("$pid", "\\$pid").replace("$!", "\\$!");
        let command = stage.shell(&["-c", &outer]);
        let mut person = crate::person::Person::start(command, b"", None);
        assert!(person.is_asked() && !person.echoes(), "{name}");
        let launcher = tree(person.id()).into_iter().find(|id| holds(&shown(*id), "launch\0--host"));
        crate::processes::signal(
            launcher.expect("the launcher"),
            rustix::process::Signal::from_named_raw(number).unwrap(),
        );
        let status = stage.wait_for("status");
        wait_until("its status", || fs::read_to_string(stage.path("status")).unwrap().ends_with('\n'));
        assert_eq!(
            fs::read_to_string(stage.path("status")).unwrap().trim(),
            (128 + number).to_string(),
            "{name} {status}"
        );
        assert!(person.echoes(), "{name}: the terminal's settings are put back");
        assert!(stage.sessions().is_empty() && !stage.path("started").exists(), "{name}");
        stage.scratch.file("go", "", 0o600);
        person.finish();
        fs::remove_file(stage.path("go")).unwrap();
        fs::remove_file(stage.path("status")).unwrap();
    }
}

#[test]
fn a_command_that_closes_its_output_and_lives_on_keeps_nobody_from_ending_the_launch() {
    let password = canary("secret");
    let stage = Stage::allowed(&locked(&password));
    let script =
        format!("#!/bin/sh\necho {password}\nexec >&-\necho $$ >pid\nmv pid closed\nexec sleep 300 2>/dev/null\n");
    stage.scratch.file("lives", script, 0o700);
    let mut command = stage.command(&["--secret-from", "command:./lives"], "echo >started");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut launcher = command.spawn().unwrap();
    let kept: u32 = stage.wait_for("closed").trim().parse().unwrap();
    crate::processes::signal(launcher.id(), rustix::process::Signal::TERM);
    let mut ended = None;
    wait_until("its end", || {
        ended = launcher.try_wait().unwrap();
        ended.is_some()
    });
    assert_eq!(ended.unwrap().signal(), Some(15));
    assert!(!crate::processes::is_running(kept), "the command is ended too");
    assert!(!stage.path("started").exists() && stage.sessions().is_empty());
}

/// What a host finds in the password file.
const SHOW: &str = "cat \"$KDNA_MCP_AUTHORIZATION_FILE\" >got";

#[test]
fn a_password_comes_from_a_descriptor_a_credential_or_a_command_as_well() {
    let password = canary("secret");
    let stage = Stage::allowed(&locked(&password));
    let file = stage.scratch.file("source", format!("{password}\n"), 0o600);
    stage.scratch.directory("credentials", 0o700);
    stage.scratch.file("credentials/kdna", &password, 0o400);
    stage.scratch.file(
        "bin",
        format!("#!/bin/sh\nread nothing || echo none >stdin\nprintf '%s\\r\\n' '{password}'\n"),
        0o700,
    );
    let credentials = stage.path("credentials");
    let through_shell = |redirection: &str, number: &str| {
        let mut command = stage.command(&["--secret-from", number], SHOW);
        let words: Vec<_> = command.get_args().map(std::ffi::OsStr::to_owned).collect();
        let mut shell = Command::new("sh");
        let line = format!("exec \"$BROKER\" \"$@\" {redirection}");
        shell.args(["-c", &line, "sh"]).args(words).current_dir(stage.scratch.path()).env_clear();
        shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        drop(std::mem::replace(&mut command, shell));
        command
    };
    let mut from_credential = stage.command(
        &["--secret-from", "systemd-credential:kdna"],
        &format!("{SHOW}; echo \"x$CREDENTIALS_DIRECTORY\" >led"),
    );
    from_credential.env("CREDENTIALS_DIRECTORY", &credentials);
    for command in [
        through_shell(&format!("3<'{}'", file.display()), "fd:3"),
        through_shell(&format!("9<'{}'", file.display()), "fd:9"),
        from_credential,
        stage.command(&["--secret-from", "command:./bin"], SHOW),
        stage.command(&["--secret-from", "command:cat source"], SHOW),
        stage.command(&["--secret-from", "command:sh -c 'cat source; exit 0'"], SHOW),
    ] {
        let what = format!("{command:?}");
        let ended = run(command, None);
        assert_eq!(ended.exit, Exit::Status(0), "{what}: {}", ended.stderr_text());
        assert_eq!(fs::read_to_string(stage.path("got")).unwrap(), format!("{password}\r\n"), "{what}");
        fs::remove_file(stage.path("got")).unwrap();
        assert!(stage.sessions().is_empty());
    }
    assert_eq!(fs::read_to_string(stage.path("stdin")).unwrap(), "none\n", "a command has no standard input");
    assert_eq!(fs::read_to_string(stage.path("led")).unwrap(), "x\n", "nothing leads a host to the credential");
}

#[test]
fn a_source_that_gives_no_password_or_a_wrong_one_starts_nothing_and_shows_nothing() {
    let password = canary("secret");
    let stage = Stage::allowed(&locked(&password));
    stage.scratch.file("long", password.repeat(700), 0o600);
    stage.scratch.file("wrong", format!("{password}x"), 0o600);
    stage.scratch.file("bytes", [password.as_bytes(), b"\xff"].concat(), 0o600);
    stage.scratch.directory("credentials", 0o700);
    stage.scratch.file("credentials/open", &password, 0o644);
    std::os::unix::fs::symlink("open", stage.path("credentials/link")).unwrap();
    for (source, code) in [
        ("command:cat wrong", "authorization_rejected"),
        ("command:cat long", "authorization_source_invalid"),
        ("command:cat bytes", "authorization_source_invalid"),
        ("command:true", "authorization_source_invalid"),
        ("command:sh -c 'cat wrong; exit 1'", "authorization_source_invalid"),
        ("command:no-such-program", "authorization_source_invalid"),
        ("command:", "authorization_source_invalid"),
        ("fd:77", "authorization_source_invalid"),
        ("fd:0", "authorization_source_invalid"),
        ("fd:x", "authorization_source_invalid"),
        ("systemd-credential:open", "authorization_source_invalid"),
        ("systemd-credential:link", "authorization_source_invalid"),
        ("systemd-credential:none", "authorization_source_invalid"),
        ("systemd-credential:../wrong", "authorization_source_invalid"),
        ("tty", "authorization_source_invalid"),
        ("env:PASSWORD", "Invalid --secret-from"),
    ] {
        let mut command = stage.command(&["--secret-from", source], "echo >started");
        command.env("CREDENTIALS_DIRECTORY", stage.path("credentials"));
        let ended = run(command, Some(b""));
        assert_eq!(ended.exit, Exit::Status(2), "{source}: {}", ended.stderr_text());
        assert!(ended.stderr_text().contains(code), "{source}: {}", ended.stderr_text());
        assert!(!holds(&ended.stderr, &password) && !holds(&ended.stdout, &password), "{source}");
        assert!(!stage.path("started").exists() && stage.sessions().is_empty(), "{source}");
    }
}

#[test]
fn a_public_asset_asks_for_no_password_and_reads_no_source() {
    let stage = Stage::allowed(PUBLIC);
    let ended = stage.launch(&["--secret-from", "command:sh -c 'echo >asked'"], "exit 4");
    assert_eq!(ended.exit, Exit::Status(4), "{}", ended.stderr_text());
    assert!(!stage.path("asked").exists());
    let seen = stage.launch_typing(&[], "exit 4", &[b"x\n"]);
    assert_eq!(seen.exit, Exit::Status(4));
    assert!(!seen.screen.contains("Password"), "{}", seen.screen);
}

#[test]
fn no_session_lies_where_it_would_be_written_to_a_disk_or_seen_by_others() {
    let stage = Stage::allowed(PUBLIC);
    let open = tempfile::Builder::new().prefix("kdna-test-").tempdir_in("/dev/shm").unwrap();
    fs::set_permissions(open.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let link = stage.path("link");
    std::os::unix::fs::symlink(stage.memory(), &link).unwrap();
    stage.scratch.directory("disk", 0o700);
    for place in [open.path().to_owned(), link, stage.path("disk"), "relative".into(), "".into(), "/proc".into()] {
        let mut command = stage.command(&[], "printf %s \"$KDNA_BROKER_SESSION\" >where");
        command.env("XDG_RUNTIME_DIR", &place);
        let ended = run(command, None);
        assert_eq!(ended.exit, Exit::Status(0), "{place:?}: {}", ended.stderr_text());
        let session = PathBuf::from(fs::read_to_string(stage.path("where")).unwrap());
        assert_eq!(session.parent(), Some(Path::new("/dev/shm")), "{place:?}");
        assert!(!session.exists());
    }
    assert!(stage.sessions().is_empty());
}

#[test]
fn no_session_lies_in_the_project() {
    let stage = Stage::allowed(PUBLIC);
    // The project is all of the place in memory, which would do otherwise.
    let root = stage.memory().to_str().unwrap().to_owned();
    let file = stage.scratch.file("asset.kdna", PUBLIC, 0o600);
    stage.attach(&file, &root);
    let script = "printf %s \"$KDNA_BROKER_SESSION\" >where";
    let words = ["launch", "--host", HOST, "--processor", PROCESSOR, "--workspace", &root, "--", "sh", "-c", script];
    let seen = answer(&stage.scratch, Program::Broker, &words, |command| stage.arrange(command), b"y\n");
    assert_eq!(seen.exit, Exit::Status(0), "{}", seen.screen);
    let session = PathBuf::from(fs::read_to_string(stage.path("where")).unwrap());
    assert_eq!(session.parent(), Some(Path::new("/dev/shm")));
}
