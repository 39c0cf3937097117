//! The place where a worker acts: a directory that it may read, one that it may not, and listeners that nobody answers.

use kdna_broker::foundation::path::AbsolutePath;
use kdna_broker::system::os::{Directory, OsSystem, Sealed};
use kdna_broker::system::{Cancel, ChildFault, ChildOrder, ChildReport, Observe, Program, System};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// The facts are what an action may need to know: the directory that is out of reach, a port, the broker.
pub(crate) struct Stage {
    space: TempDir,
    directory: Directory,
    _tcp: TcpListener,
    facts: String,
    cancel: Cancel,
    _unix: UnixListener,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let space = tempfile::tempdir().unwrap();
        let inside = space.path().join("inside");
        let outside = space.path().join("outside");
        fs::create_dir_all(inside.join("folder")).unwrap();
        fs::create_dir(&outside).unwrap();
        for file in [inside.join("file"), inside.join("folder/file"), outside.join("file")] {
            fs::write(&file, "content").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        }
        symlink("file", inside.join("link")).unwrap();
        let unix = UnixListener::bind(inside.join("listener")).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let path = AbsolutePath::parse(inside.to_str().unwrap()).unwrap();
        let directory = OsSystem::new().open_directory(&path).unwrap();
        let port = tcp.local_addr().unwrap().port();
        let facts = format!("{}\n{port}\n{}", outside.display(), std::process::id());
        Self { space, directory, _tcp: tcp, facts, cancel: Cancel::new(), _unix: unix }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.space.path().join(name)
    }

    /// What an action may need to know, one text a line.
    pub(crate) fn facts(&self) -> &str {
        &self.facts
    }

    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Everything that a worker could have changed, as text.
    pub(crate) fn state(&self) -> String {
        let mut lines = Vec::new();
        describe(self.space.path(), &mut lines);
        lines.sort();
        lines.join("\n")
    }

    pub(crate) fn sealed(&self, bytes: &[u8]) -> Sealed {
        let system = OsSystem::new();
        let file = system.create_file(&self.directory, "to-seal", 0o600).unwrap();
        system.write(&file, bytes).unwrap();
        system.remove(&self.directory, "to-seal").unwrap();
        system.seal(&file, 1 << 30).unwrap().0
    }

    /// Runs one script with usual bounds.
    pub(crate) fn run(&self, script: &str) -> Result<ChildReport, ChildFault> {
        self.run_with(script, |_| {})
    }

    /// Runs one script; `change` may replace parts of the order.
    pub(crate) fn run_with<'a>(
        &'a self,
        script: &str,
        change: impl FnOnce(&mut ChildOrder<'a, OsSystem>),
    ) -> Result<ChildReport, ChildFault> {
        self.run_by(script, change, |order| OsSystem::new().run(order))
    }

    /// As [`Stage::run_with`], by whoever takes the order.
    pub(crate) fn run_by<'a>(
        &'a self,
        script: &str,
        change: impl FnOnce(&mut ChildOrder<'a, OsSystem>),
        run: impl FnOnce(&ChildOrder<'a, OsSystem>) -> Result<ChildReport, ChildFault>,
    ) -> Result<ChildReport, ChildFault> {
        fs::write(self.path("inside/script"), script).unwrap();
        let mut order = ChildOrder {
            program: Program::Embedded,
            directory: Some(&self.directory),
            sealed: None,
            request: self.facts.as_bytes(),
            input: b"the input",
            deadline: Duration::from_secs(20),
            output_limit: 1 << 20,
            cancel: &self.cancel,
        };
        change(&mut order);
        run(&order)
    }

    /// The text that one script answers.
    pub(crate) fn answer(&self, script: &str) -> String {
        let report = self.run(script).unwrap_or_else(|fault| panic!("{script}: {fault:?}"));
        String::from_utf8(report.output).unwrap()
    }
}

fn describe(path: &Path, lines: &mut Vec<String>) {
    let facts = fs::symlink_metadata(path).unwrap();
    let name = path.file_name().unwrap_or_default().to_owned();
    if name == "script" {
        return;
    }
    // Not the change time of directories: the script in one of them is rewritten.
    let content = if facts.is_file() { fs::read_to_string(path).unwrap() } else { String::new() };
    let changed = if facts.is_file() { (facts.mtime(), facts.mtime_nsec()) } else { (0, 0) };
    lines.push(format!("{} {:o} {} {changed:?} {content}", path.display(), facts.mode(), facts.nlink()));
    if facts.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            describe(&entry.unwrap().path(), lines);
        }
    }
}

/// The Landlock ABI of this kernel.
pub(crate) fn kernel_abi() -> u32 {
    kdna_broker::system::os::start::check_platform().unwrap()
}
